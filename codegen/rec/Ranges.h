// Interval analysis: between which numbers the elements of a value lie, as far as declarations and activations prove.
#pragma once

#include <limits>

#include "codegen/rec/Rec.h"

namespace wkvc::rec {

// Closed; the bounds hold for exact arithmetic, so f32 results may exceed them by their rounding.
struct Interval {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();

  bool bounded() const;
  double magnitude() const;  // the largest absolute value
  friend bool operator==(const Interval&, const Interval&) = default;
};

Interval range_of(mlir::Value value);

}  // namespace wkvc::rec
