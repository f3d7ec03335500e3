// What is known of a placed program's states before there is a kernel: their maxima, and the scales that they carry.
// `saved`: of the saved state of a backward program, else of the state that goes from chunk to chunk.
#pragma once

#include "codegen/passes/place/PlacedProgram.h"

namespace wkvc {

mlir::Operation* state_of(chunk::ProgramOp program, bool saved);  // null if there is none

// Returns whether a scale takes a state's maximum, which all warps publish.
bool has_maximum(const PlacedProgram& of, bool saved);

// Returns whether a state carries a scale as it goes through rounds, and whether all warps have the same.
bool state_carries_scale(const PlacedProgram& of, bool saved);
bool state_shares_scale(const PlacedProgram& of, bool saved);

}  // namespace wkvc
