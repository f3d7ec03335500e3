// The state that is taken through a chunk, as its rows have it.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Publishes the maximum of a state, if that is a scale's.
void publish_state(Environment& env, bool saved);
// Rounds the state that is taken, first: other operands take their scale from it.
void round_state(Environment& env);

}  // namespace wkvc
