#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/checked.h"
#include "runtime/error.h"
#include "runtime/launch_arguments.h"
#include "runtime/layout.h"

namespace wkvc {
namespace {

bool is_state(const TensorSpec& spec) { return spec.role == Role::initial_state || spec.role == Role::final_state; }
bool is_written(const TensorSpec& spec) { return is_result(spec.role) || is_internal(spec.role); }
bool is_absent(const TensorSpec& spec, const Tensor& tensor) {
  return is_optional(spec.role) && tensor.data == nullptr;
}

void check_shape(const TensorSpec& spec, const Tensor& tensor, const std::vector<std::int64_t>& expected) {
  if (tensor.shape != expected) {
    user_error("tensor \"{}\" has shape {}, expected [{}] = {}", spec.name, shape_text(tensor.shape),
               fmt::join(spec.dims, ", "), shape_text(expected));
  }
  if (tensor.strides.size() != tensor.shape.size()) {
    user_error("tensor \"{}\" has {} strides, expected one for each of its {} dimensions", spec.name,
               tensor.strides.size(), tensor.shape.size());
  }
}

// Kernels find the rest of what they keep for each other from the strides of its rows.
void check_contiguous(const TensorSpec& spec, const Tensor& tensor) {
  const std::vector<std::int64_t> expected = contiguous_strides(tensor.shape);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (tensor.shape[i] <= 1 || tensor.strides[i] == expected[i]) continue;
    user_error("tensor \"{}\" has strides {}, expected {}: a {} tensor has to be contiguous", spec.name,
               shape_text(tensor.strides), shape_text(expected), name_of(spec.role));
  }
}

void check_strides(const TensorSpec& spec, const Tensor& tensor) {
  CheckedInt last_byte = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] <= 1) continue;  // the stride of a single element is never used
    if (tensor.strides[i] < 0) {
      user_error("tensor \"{}\" has strides {}: negative strides are not supported, copy it", spec.name,
                 shape_text(tensor.strides));
    }
    last_byte = checked_add(last_byte, checked_mul(checked_mul(tensor.shape[i] - 1, tensor.strides[i]),
                                                   static_cast<std::int64_t>(size_of(tensor.dtype))));
  }
  if (!last_byte) {
    user_error("tensor \"{}\" with shape {} and strides {} reaches beyond 63 bits of memory", spec.name,
               shape_text(tensor.shape), shape_text(tensor.strides));
  }
  if (is_internal(spec.role)) check_contiguous(spec, tensor);
  if (has_rows(spec) && tensor.shape.back() > 1 && tensor.strides.back() != 1) {
    user_error("tensor \"{}\" has strides {}: its last dimension has to be contiguous (stride 1), copy it", spec.name,
               shape_text(tensor.strides));
  }
}

// Offsets inside a chunk are 32 bits in kernels.
void check_row_stride(const TensorSpec& spec, const Tensor& tensor) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 24;
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    if (spec.dims[i] == "B" || spec.dims[i] == "H" || tensor.shape[i] <= 1 || tensor.strides[i] < kLimit) continue;
    user_error("tensor \"{}\" has strides {}: neighbouring rows ({}) are at most {} elements apart, copy it", spec.name,
               shape_text(tensor.strides), spec.dims[i], kLimit - 1);
  }
}

void check_pointer(const TensorSpec& spec, const Tensor& tensor) {
  if (tensor.data == nullptr) {
    user_error("tensor \"{}\" is null: only states and gradients of states can be left out", spec.name);
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % size_of(tensor.dtype) != 0) {
    user_error("tensor \"{}\" begins at {}, which is not aligned to its {}-byte elements", spec.name,
               fmt::ptr(tensor.data), size_of(tensor.dtype));
  }
}

// Kernels move what they keep for each other in pieces of 16 bytes.
void check_alignment(const TensorSpec& spec, const Tensor& tensor) {
  if (!is_internal(spec.role) || reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0) return;
  user_error("tensor \"{}\" begins at {}, which is not a multiple of 16 bytes: a {} tensor has to be aligned",
             spec.name, fmt::ptr(tensor.data), name_of(spec.role));
}

// Dimensions from the smallest stride: each has to step over all that the ones before it reach. It refuses a few
// layouts that interleave without overlapping; no framework makes those.
void check_no_overlap(const TensorSpec& spec, const Tensor& tensor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] > 1) dims.emplace_back(tensor.strides[i], tensor.shape[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0;  // offset of the last element so far
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) {
      user_error(
          "tensor \"{}\" is written, but with shape {} and strides {} elements share memory: pass one of its own",
          spec.name, shape_text(tensor.shape), shape_text(tensor.strides));
    }
    reach += (size - 1) * stride;
  }
}

void check_tensor(const TensorSpec& spec, const Tensor& tensor, const std::vector<std::int64_t>& expected) {
  if (tensor.dtype != spec.dtype) {
    user_error("tensor \"{}\" is {}, but the kernel was compiled for {}: convert it, or compile for {}", spec.name,
               name_of(tensor.dtype), name_of(spec.dtype), name_of(tensor.dtype));
  }
  check_shape(spec, tensor, expected);
  if (element_count(tensor.shape) == 0) return;
  check_strides(spec, tensor);
  check_row_stride(spec, tensor);
  check_pointer(spec, tensor);
  check_alignment(spec, tensor);
  if (is_written(spec)) check_no_overlap(spec, tensor);
}

// A state may be updated in place: each block reads its own before it writes it.
bool in_place_state(const TensorSpec& a, const TensorSpec& b, const Tensor& ta, const Tensor& tb) {
  return is_state(a) && is_state(b) && a.role != b.role && ta.strides == tb.strides;
}

void check_sharing(const Manifest& manifest, std::span<const Tensor> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& written = manifest.tensors[i];
    if (!is_written(written) || tensors[i].data == nullptr || element_count(tensors[i].shape) == 0) continue;
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      const TensorSpec& other = manifest.tensors[j];
      if (i == j || tensors[i].data != tensors[j].data || element_count(tensors[j].shape) == 0) continue;
      if (in_place_state(written, other, tensors[i], tensors[j])) continue;
      user_error(
          "tensors \"{}\" and \"{}\" begin at the same address, and the first is written: pass it memory of its own",
          written.name, other.name);
    }
  }
}

void check_size(LaunchSize size) {
  if (size.batches < 0 || size.tokens < 0 || size.heads < 0) {
    user_error("B = {}, T = {}, H = {}: sizes cannot be negative", size.batches, size.tokens, size.heads);
  }
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 34;  // chunks of at least 16 are counted in 32 bits
  if (size.tokens > kMostTokens) {
    user_error("T = {} is more than {}, the most tokens a kernel counts: split the sequence", size.tokens, kMostTokens);
  }
  const CheckedInt blocks = checked_mul(size.batches, size.heads);
  if (!blocks || *blocks > std::numeric_limits<std::int32_t>::max()) {
    user_error("B·H = {}·{} is more than 2^31-1, the most blocks a launch can have: split the batch", size.batches,
               size.heads);
  }
}

}  // namespace

void check_launch(const Manifest& manifest, std::span<const Tensor> tensors, LaunchSize size) {
  check_size(size);
  if (tensors.size() != manifest.tensors.size()) {
    std::vector<std::string> names;
    for (const TensorSpec& spec : manifest.tensors) names.push_back(spec.name);
    user_error("{} tensors were given, expected {}: {}", tensors.size(), names.size(), fmt::join(names, ", "));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& spec = manifest.tensors[i];
    if (!is_absent(spec, tensors[i])) check_tensor(spec, tensors[i], shape_of(spec, manifest, size));
  }
  check_sharing(manifest, tensors);
}

}  // namespace wkvc
