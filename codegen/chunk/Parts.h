// Parts of a head (--parts): value rows of a state, which blocks take through all tokens without each other.
#pragma once

#include <string>
#include <vector>

#include "codegen/chunk/Chunk.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// Makes the recurrence of a head that of one of so many parts: all that is of values gets shorter. Throws UserError
// where rows of values need each other, or a part has no whole tiles. `shared` are the inputs of --shared.
void take_part(rec::RecurrenceOp recurrence, int parts, const std::vector<std::string>& shared);

// Says that a program is that of one of so many parts; 0 is 1.
void set_parts(chunk::ProgramOp program, int parts);

}  // namespace wkvc
