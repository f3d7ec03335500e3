#include "runtime/cuda/empty_launch.h"

#include <algorithm>
#include <array>

#include "runtime/error.h"

namespace wkvc {
namespace {

// Without tokens, `to` is `from`.
struct Carried {
  Role from, to;
};
constexpr std::array<Carried, 2> carried_roles{
    {{Role::initial_state, Role::final_state}, {Role::final_state_gradient, Role::initial_state_gradient}}};

bool is_carried(Role role) {
  return std::ranges::any_of(carried_roles, [&](const Carried& carried) { return carried.to == role; });
}

// The index of the n-th tensor of a role; that of none, when there are fewer.
std::size_t index_of(const Manifest& manifest, Role role, std::size_t n) {
  std::size_t i = 0;
  for (; i < manifest.tensors.size(); ++i) {
    if (manifest.tensors[i].role == role && n-- == 0) break;
  }
  return i;
}

std::byte* address(const Tensor& tensor, std::int64_t element) {
  return static_cast<std::byte*>(tensor.data) + element * static_cast<std::int64_t>(size_of(tensor.dtype));
}

// How many trailing dimensions lie contiguously in memory.
std::size_t contiguous_dims(const Tensor& tensor) {
  std::int64_t expected = 1;
  std::size_t count = 0;
  for (std::size_t i = tensor.shape.size(); i-- > 0; ++count) {
    if (tensor.shape[i] > 1 && tensor.strides[i] != expected) return count;
    expected *= tensor.shape[i];
  }
  return count;
}

// Calls `visit` with the bytes of every contiguous piece of `to`, and where the same piece begins in `from`, which may
// be `to` itself. A whole contiguous tensor is one piece.
template <class Visit>
void for_each_piece(const Tensor& to, const Tensor& from, const Visit& visit) {
  const std::size_t outer = to.shape.size() - std::min(contiguous_dims(to), contiguous_dims(from));
  std::int64_t pieces = 1, elements = 1;
  for (std::size_t i = 0; i < to.shape.size(); ++i) (i < outer ? pieces : elements) *= to.shape[i];
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    std::int64_t rest = piece, to_offset = 0, from_offset = 0;
    for (std::size_t i = outer; i-- > 0; rest /= to.shape[i]) {
      to_offset += rest % to.shape[i] * to.strides[i];
      from_offset += rest % to.shape[i] * from.strides[i];
    }
    visit(address(to, to_offset), address(from, from_offset), static_cast<std::size_t>(elements) * size_of(to.dtype));
  }
}

void set_zero(const Backend& backend, const Tensor& tensor, StreamHandle stream) {
  if (tensor.data == nullptr || element_count(tensor.shape) == 0) return;
  for_each_piece(tensor, tensor, [&](void* to, const void*, std::size_t bytes) { backend.fill(to, 0, bytes, stream); });
}

void carry_over(const Backend& backend, const Tensor& from, const Tensor& to, StreamHandle stream) {
  if (to.data == nullptr || to.data == from.data || element_count(to.shape) == 0) return;
  for_each_piece(to, from,
                 [&](void* into, const void* piece, std::size_t bytes) { backend.copy(into, piece, bytes, stream); });
}

void carry_over(const Backend& backend, const Manifest& manifest, Carried roles, std::span<const Tensor> tensors,
                StreamHandle stream) {
  for (std::size_t n = 0;; ++n) {
    const std::size_t from = index_of(manifest, roles.from, n), to = index_of(manifest, roles.to, n);
    if (to == tensors.size()) return;
    if (from == tensors.size() || tensors[from].data == nullptr) {
      set_zero(backend, tensors[to], stream);
    } else {
      carry_over(backend, tensors[from], tensors[to], stream);
    }
  }
}

void check_match(const Manifest& manifest, Carried roles) {
  const std::size_t none = manifest.tensors.size();
  for (std::size_t n = 0;; ++n) {
    const std::size_t from = index_of(manifest, roles.from, n), to = index_of(manifest, roles.to, n);
    if (from == none || to == none) return;
    const TensorSpec &before = manifest.tensors[from], &after = manifest.tensors[to];
    if (before.dtype == after.dtype && before.dims == after.dims) continue;
    user_error("the kernel manifest gives \"{}\" and \"{}\" different dtypes or dims: they hold the same state",
               before.name, after.name);
  }
}

}  // namespace

void finish_empty_launch(const Backend& backend, const Manifest& manifest, std::span<const Tensor> tensors,
                         StreamHandle stream) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Role role = manifest.tensors[i].role;
    if (is_result(role) && !is_carried(role)) set_zero(backend, tensors[i], stream);
  }
  for (const Carried roles : carried_roles) carry_over(backend, manifest, roles, tensors, stream);
}

void check_states_match(const Manifest& manifest) {
  for (const Carried roles : carried_roles) check_match(manifest, roles);
}

}  // namespace wkvc
