// What a segment of the sequence does to a state, so that segments can run side by side.
//
// The state after a segment is S·A + B of the state S before it, row by row (the class of recurrences is affine in the
// state). A summary program brings the state on and gives nothing else; run from zero it gives B. A comes from the same
// operations on more rows: they begin as the identity, and what does not depend on the state is zero in them. Where no
// contraction reads the state, A is diagonal, and a row of ones finds it. A backward program carries the gradient of
// the state, from the last chunk to the first; its summary is found in the same way.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Inserts, before a program that is cut into segments, their summary. Throws UserError where the program's
// rows of the state are not brought on alike, or what it carries depends on saved states.
void summarize(chunk::ProgramOp program);

// Rows of the map that a summary carries beside those of the state; 0 for other programs.
int64_t map_rows(chunk::ProgramOp program);

}  // namespace wkvc
