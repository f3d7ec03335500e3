// The factors of decays that gradients are multiplied by last, of heads wider than 64: kept in f16 from where operands
// are made, instead of as running sums in f32, for which shared memory is short, or made again from the inputs. One of
// them is kept, e^(L − L_m), L being running sums and m a row: those of the opposite sign are its reciprocals, those of
// the token before are it over one token's decay. They are not what contractions read, so to round them, as operands
// are, adds to each gradient's error and is not multiplied.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Of a backward program without scales; others stay as they are.
void keep_factors(chunk::ProgramOp program);

// A product that only a gradient's output reads.
bool goes_out(mlir::Operation* product);

// Whether it rounds a factor that is kept.
bool is_kept_factor(mlir::Operation* op);

}  // namespace wkvc
