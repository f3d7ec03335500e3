// Values of a forward program that may be infinite though their inputs are finite. An activation may swallow them: the
// exponential of minus infinity is 0, and so are all gradients before it. Their products with such values have to be 0,
// too, and not 0·∞, which is no number.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "codegen/chunk/Axes.h"

namespace wkvc {

class Overflow {
 public:
  // `primals`: the values of the forward program.
  explicit Overflow(const Spaces& primals) : primals_(primals) {}

  // Returns whether gradients of x may be zero where an operand of x is infinite: an activation reads x, or something
  // that is made of x element by element or as a sum.
  bool is_swallowed(mlir::Value x);
  // Returns whether x may be beyond f32's largest number.
  bool may_be_infinite(mlir::Value x) { return !(largest(x) <= std::numeric_limits<float>::max()); }

 private:
  double largest(mlir::Value x);  // |x| at most
  double largest_of(mlir::Operation* op);

  const Spaces& primals_;
  llvm::DenseMap<mlir::Value, bool> swallowed_;
  llvm::DenseMap<mlir::Value, double> largest_;
};

}  // namespace wkvc
