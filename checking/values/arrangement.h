// Tensors as kernels have them in memory, and as the float64 recurrence takes and gives them: with every head for
// itself and states [B,H,V,K].
#pragma once

#include <vector>

#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

bool is_shared(const TensorSpec& spec);  // has a head for each group of heads

// The tensor with a head for each, B,T,H,…, and rows of keys, B,H,V,K.
TensorSpec as_in_recurrence(TensorSpec spec);

// Shared heads are repeated for each head that they serve.
std::vector<double> to_recurrence(const TensorSpec& spec, const Manifest& manifest, LaunchSize size,
                                  const std::vector<double>& values);
// Heads that share one are summed: what is given and shared does not come back, its gradient does.
std::vector<double> from_recurrence(const TensorSpec& spec, const Manifest& manifest, LaunchSize size,
                                    const std::vector<double>& values);

// Sums of `group` neighbouring rows of `length` elements.
std::vector<double> summed_rows(const std::vector<double>& values, std::size_t length, std::size_t group);

}  // namespace wkvc
