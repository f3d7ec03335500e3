// How far results may be from the float64 recurrence, by what the kernels' manifest says of operands and storage.
#pragma once

#include "runtime/manifest/manifest.h"

namespace wkvc {

// What the operands' rounding may cost a result, and what storing the result or the states it is made from costs,
// relative to its norm, over many elements.
double bound_for(const Manifest& manifest, const TensorSpec& spec);

// The mean cost of storing many elements as `dtype`, relative to their norm.
double rounding_of(DType dtype);

// The significant bits that operands of contractions have: of the forward pass, and of the backward pass, whose
// operands include the saved states; and those of what is left where products cancel. Throws UserError for operands
// that are not known.
struct Precision {
  double forward = 0, backward = 0, rest = 0;
  auto operator<=>(const Precision&) const = default;
};
Precision precision_of(const Manifest& manifest);

}  // namespace wkvc
