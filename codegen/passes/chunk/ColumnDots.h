// Σ_v x∘y of two V×K values becomes the contraction of their rounded ones, where other contractions read those anyway:
// in shared memory they are at hand for the warps of key columns, and tensor cores sum them. A row that a factor is
// multiplied by, as decays are, multiplies the sum instead.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void contract_columns(chunk::ProgramOp program);

}  // namespace wkvc
