#include "runtime/tensor/tensor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/error.h"
#include "runtime/tensor/checked.h"

namespace wkvc {

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::int64_t element_count(std::span<const std::int64_t> shape) {
  CheckedInt count = 1;  // of the sizes that are not 0, so that strides fit whenever the shape does
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) user_error("the shape {} has a negative size", shape_text(shape));
    empty = empty || size == 0;
    count = checked_mul(count, std::max<std::int64_t>(size, 1));
  }
  if (!count) user_error("the shape {} has more elements than 63 bits can count", shape_text(shape));
  return empty ? 0 : *count;
}

std::int64_t byte_count(DType dtype, std::span<const std::int64_t> shape) {
  const CheckedInt bytes = checked_mul(element_count(shape), static_cast<std::int64_t>(size_of(dtype)));
  if (!bytes) user_error("the shape {} in {} has more bytes than 63 bits can count", shape_text(shape), name_of(dtype));
  return *bytes;
}

Extents contiguous_strides(const Extents& shape) {
  Extents strides = shape;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

HostTensor::HostTensor(DType dtype, std::vector<std::int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(static_cast<std::size_t>(byte_count(dtype, shape_))) {}

void HostTensor::poison() {
  // All ones is a NaN in every storage dtype.
  std::fill(bytes_.begin(), bytes_.end(), std::byte{0xff});
}

Tensor HostTensor::view() {
  const Extents shape(shape_);
  return {bytes_.data(), dtype_, shape, contiguous_strides(shape)};
}

}  // namespace wkvc
