// Tensors of one size made of those of another one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace wkvc {

// Returns a tensor of this shape that holds `given` over and over along every dimension, cut where the shape ends.
// `given` has as many dimensions, and elements in each.
HostTensor repeated(const HostTensor& given, const std::vector<std::int64_t>& shape);

}  // namespace wkvc
