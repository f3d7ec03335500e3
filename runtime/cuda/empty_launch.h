// A launch without a single token to process: no kernel runs, yet results hold what the recurrence says.
// Internal to the runtime.
#pragma once

#include <span>

#include "runtime/launch/backend.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

// Final states become their initial states (the n-th of the one, the n-th of the other), or zeros where that is absent,
// gradients of initial states those of final states; other results that still have elements (gradients of parameters)
// become zeros. `tensors` have passed check_launch.
void finish_empty_launch(const Backend& backend, const Manifest& manifest, std::span<const Tensor> tensors,
                         StreamHandle stream);

// Throws UserError unless the manifest's n-th initial and n-th final state agree in dtype and shape, for each n, and
// likewise their gradients.
void check_states_match(const Manifest& manifest);

}  // namespace wkvc
