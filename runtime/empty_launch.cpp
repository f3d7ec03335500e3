#include "runtime/empty_launch.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/error.h"

namespace wkvc {
namespace {

std::vector<std::size_t> indices_of(const Manifest& manifest, Role role) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (manifest.tensors[i].role == role) indices.push_back(i);
  }
  return indices;
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
void for_each_piece(const Tensor& to, const Tensor& from,
                    const std::function<void(void*, const void*, std::size_t)>& visit) {
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
  for_each_piece(tensor, tensor,
                 [&](void* to, const void*, std::size_t bytes) { backend.set_zero(to, bytes, stream); });
}

void carry_over(const Backend& backend, const Tensor& initial, const Tensor& final_state, StreamHandle stream) {
  if (final_state.data == nullptr || final_state.data == initial.data || element_count(final_state.shape) == 0) return;
  for_each_piece(final_state, initial,
                 [&](void* to, const void* from, std::size_t bytes) { backend.copy(to, from, bytes, stream); });
}

}  // namespace

void finish_empty_launch(const Backend& backend, const Manifest& manifest, std::span<const Tensor> tensors,
                         StreamHandle stream) {
  for (const std::size_t i : indices_of(manifest, Role::output)) set_zero(backend, tensors[i], stream);
  const std::vector<std::size_t> initial = indices_of(manifest, Role::initial_state);
  const std::vector<std::size_t> finals = indices_of(manifest, Role::final_state);
  for (std::size_t n = 0; n < finals.size(); ++n) {
    const bool starts_at_zero = n >= initial.size() || tensors[initial[n]].data == nullptr;
    if (starts_at_zero) {
      set_zero(backend, tensors[finals[n]], stream);
    } else {
      carry_over(backend, tensors[initial[n]], tensors[finals[n]], stream);
    }
  }
}

void check_states_match(const Manifest& manifest) {
  const std::vector<std::size_t> initial = indices_of(manifest, Role::initial_state);
  const std::vector<std::size_t> finals = indices_of(manifest, Role::final_state);
  for (std::size_t n = 0; n < std::min(initial.size(), finals.size()); ++n) {
    const TensorSpec& from = manifest.tensors[initial[n]];
    const TensorSpec& to = manifest.tensors[finals[n]];
    if (from.dtype != to.dtype || from.dims != to.dims) {
      user_error("the kernel manifest gives \"{}\" and \"{}\" different dtypes or dims: they hold the same state",
                 from.name, to.name);
    }
  }
}

}  // namespace wkvc
