// A tensor of a test in a storage dtype, seen as doubles: [batches, rows, heads, columns] in this order.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/tensor/dtype.h"
#include "wkvc/abi.h"

namespace wkvc::test {

struct Shape {
  long long batches = 1, rows = 1, heads = 1, columns = 1;

  long long size() const { return batches * rows * heads * columns; }
};

class Tensor {
 public:
  // Every element starts as NaN, the `padding` elements behind each row of columns included.
  Tensor(DType dtype, Shape shape, int padding = 0);

  // f32, with the rows of a head together: [batches, heads, rows, columns].
  static Tensor state(Shape shape);
  static Tensor absent();  // null data: no initial state, nobody asked for the final one

  // In the order of the shape; rounded to the dtype on the way in.
  Tensor& set(const std::vector<double>& values);
  std::vector<double> values() const;
  bool padding_is_untouched() const;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::vector<std::byte>& bytes() { return bytes_; }
  TensorArg argument(void* data) const;

 private:
  std::size_t offset(long long i) const;  // of element i, in bytes

  DType dtype_;
  Shape shape_;
  long long pitch_;  // elements from one line of columns to the next
  bool heads_first_ = false;
  std::vector<std::byte> bytes_;
};

// The value a dtype stores for x.
double rounded(DType dtype, double x);

}  // namespace wkvc::test
