// rec → chunk: C tokens at once, for the whole class of recurrences that AffineAnalysis reads.
//
// With L the running sum of log decays inside the chunk, every rank-one term (a, b), input term (v, k) and read q of
// the state becomes a decayed C×K matrix; token by token products become lower triangular C×C matrices, and the
// rank-one terms a unit lower triangular solve:  U = (I−AB)⁻¹(AK·V + ã·S₀ᵀ),  O = r̃·S₀ᵀ + RK·V + RB·U,
// S_C = (S₀ + Vᵀk̃ + Uᵀb̃)·diag(e^L_C).  Several rank-one terms are eliminated one after the other, block by block.
#pragma once

#include <mlir/IR/OwningOpRef.h>

#include "codegen/chunk/Chunk.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// `chunk` tokens a step, a multiple of 16; 0 lets the range of the decays choose. Throws UserError for a recurrence
// outside the class and for a chunk its decays do not fit (naming the largest that does). `gradients`: the program is
// to be differentiated.
mlir::OwningOpRef<mlir::ModuleOp> rec_to_chunk(rec::RecurrenceOp recurrence, int chunk, bool gradients);

// The same for programs without scales, which may refuse what they do not hold, if they are others, else null. Decays
// of any size are factored as if they were moderate: where they are not, NaN comes out. In place of bf16 they
// compute in f16, where f16's range does.
mlir::OwningOpRef<mlir::ModuleOp> rec_to_plain_chunk(rec::RecurrenceOp recurrence, int chunk, bool gradients);

}  // namespace wkvc
