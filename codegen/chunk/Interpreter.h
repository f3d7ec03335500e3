// A chunk program, chunk by chunk, in float64: what it means before any rounding. Compared with the token recurrence.
#pragma once

#include <vector>

#include "codegen/chunk/Chunk.h"
#include "codegen/rec/Interpreter.h"

namespace wkvc::chunk {

// Conventions are those of rec::interpret: tensors by name, contiguous; `initial_state` [B,H,V,K], empty for zeros.
// Nothing is rounded: chunk.round and chunk.widen change nothing. Rows past the end of the last chunk are zero for
// inputs. `program` is verified. Throws UserError for tensors that are missing or of another size.
rec::Result interpret(ProgramOp program, rec::Shape shape, const rec::Tensors& inputs,
                      const std::vector<double>& initial_state = {});

}  // namespace wkvc::chunk
