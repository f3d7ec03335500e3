// Tensors in memory: a view that owns nothing, and a contiguous array on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/tensor/dtype.h"
#include "runtime/tensor/extents.h"

namespace wkvc {

// Host or device memory, whichever the callee expects. Strides count elements. data == nullptr with an empty shape
// means: absent (see Kernel::launch).
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Extents shape;
  Extents strides;
};

std::string shape_text(std::span<const std::int64_t> shape);  // "[2, 4, 64]"

// Elements and bytes of a shape; throw UserError when a size is negative or the product exceeds 63 bits.
std::int64_t element_count(std::span<const std::int64_t> shape);
std::int64_t byte_count(DType dtype, std::span<const std::int64_t> shape);

// Strides of a shape that element_count accepts, last dimension fastest.
Extents contiguous_strides(const Extents& shape);

// A contiguous array of any rank, last dimension fastest; starts as zeros.
class HostTensor {
 public:
  HostTensor() : HostTensor(DType::f32, {0}) {}
  HostTensor(DType dtype, std::vector<std::int64_t> shape);  // throws UserError as byte_count does

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::size_t size() const { return bytes_.size() / size_of(dtype_); }  // elements
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  double get(std::size_t i) const { return load_element(dtype_, bytes_.data(), i); }
  void set(std::size_t i, double value) { store_element(dtype_, bytes_.data(), i, value); }

  void poison();  // NaN everywhere, so that what a kernel leaves unwritten shows
  // Valid while this tensor lives and is not moved from or assigned. Throws UserError when it has more dimensions than
  // Extents hold.
  Tensor view();

 private:
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> bytes_;
};

}  // namespace wkvc
