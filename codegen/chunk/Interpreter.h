// A chunk program, chunk by chunk, in float64: what it means before any rounding. Compared with the token recurrence.
#pragma once

#include <vector>

#include "codegen/chunk/Chunk.h"
#include "codegen/rec/reference/Interpreter.h"

namespace wkvc::chunk {

// Conventions are those of rec::interpret: tensors by name, contiguous; `initial_state` [B,H,V,K], empty for zeros.
// Nothing is rounded: chunk.round and chunk.widen change nothing. Rows past the end of the last chunk are zero for
// inputs. `program` is verified. Throws UserError for tensors that are missing or of another size.
//
// Of a backward program, `initial_state` is the gradient of the final state and the result's `final_state` that of the
// initial one; outputs are gradients by their names, those of parameters [H,D].
//
// `saved` [B,H,chunks,V,K] holds the state before each chunk: a forward program fills it, a backward one reads it.
rec::Result interpret(ProgramOp program, rec::Shape shape, const rec::Tensors& inputs,
                      const std::vector<double>& initial_state = {}, std::vector<double>* saved = nullptr);

}  // namespace wkvc::chunk
