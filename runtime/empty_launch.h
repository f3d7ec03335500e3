// A launch without a single token to process: no kernel runs, yet results hold what the recurrence says.
// Internal to the runtime.
#pragma once

#include <span>

#include "runtime/backend.h"
#include "runtime/tensor.h"

namespace wkvc {

// Final states become their initial states (the n-th of the one, the n-th of the other), or zeros where that is absent;
// outputs that still have elements (per-head sums) become zeros. `tensors` have passed check_launch.
void finish_empty_launch(const Backend& backend, const Manifest& manifest, std::span<const Tensor> tensors,
                         StreamHandle stream);

// Throws UserError unless the manifest's n-th initial and n-th final state agree in dtype and shape, for each n.
void check_states_match(const Manifest& manifest);

}  // namespace wkvc
