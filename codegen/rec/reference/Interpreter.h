// The recurrence, token by token, in float64: the reference that everything else is compared with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/rec/Rec.h"

namespace wkvc::rec {

class Rounding;

struct Shape {
  std::int64_t batch = 1, tokens = 1, heads = 1;
};

// By name: inputs and outputs [B,T,H,D] ([B,T,H] for scalars), parameters [H,D], contiguous.
using Tensors = std::map<std::string, std::vector<double>>;

struct Result {
  Tensors outputs;
  std::vector<double> final_state;               // [B,H,V,K]
  std::vector<double> intermediate_states = {};  // [B,⌊T/states_every⌋,H,V,K]
};

// `inputs` hold the inputs and parameters, already rounded to their storage dtypes; `initial_state` [B,H,V,K], empty
// for zeros. Nothing is rounded: casts change nothing, and outputs are not stored in their dtype. Throws UserError for
// tensors that are missing or of another size. With `rounding` the operands of contractions are rounded at random. The
// state behind every `states_every` tokens is a result, too; 0: no such state is.
Result interpret(RecurrenceOp recurrence, Shape shape, const Tensors& inputs,
                 const std::vector<double>& initial_state = {}, Rounding* rounding = nullptr,
                 std::int64_t states_every = 0);

}  // namespace wkvc::rec
