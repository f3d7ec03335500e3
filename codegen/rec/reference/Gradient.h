// Gradients of the recurrence, token by token backwards, in float64: the reference that backward passes are compared
// with.
#pragma once

#include <vector>

#include "codegen/rec/reference/Interpreter.h"

namespace wkvc::rec {

struct Gradients {
  Tensors inputs;                     // by name and in the shape of the input or parameter
  std::vector<double> initial_state;  // [B,H,V,K]
};

// Gradients of Σ outputs∘output_gradients + Σ final_state∘final_state_gradient. `output_gradients` are by the outputs'
// names and in their shapes; `final_state_gradient` [B,H,V,K], empty for zeros; the rest is as in `interpret`. Those of
// parameters are summed over batches and tokens. Casts pass gradients on unrounded; relu has gradient 0 at 0. Throws
// UserError for tensors that are missing or of another size. `rounding` is as in `interpret`, of both directions.
Gradients differentiate(RecurrenceOp recurrence, Shape shape, const Tensors& inputs,
                        const std::vector<double>& initial_state, const Tensors& output_gradients,
                        const std::vector<double>& final_state_gradient = {}, Rounding* rounding = nullptr);

// The gradients given, and ones for every other output: results of kernels that do not take the gradient of an output
// must not depend on that gradient.
Tensors with_ones_for_others(RecurrenceOp recurrence, Shape shape, Tensors given);

}  // namespace wkvc::rec
