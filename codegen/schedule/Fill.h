// Options as a shorthand: they fill schedules in. Needs no MLIR.
#pragma once

#include "codegen/compiler.h"
#include "codegen/schedule/Schedule.h"

namespace wkvc {

// Sets what the options say of the forward or the backward kernel's schedule, for chunks of so many tokens and heads of
// so many keys. Throws UserError for saved states that would not lie at the ends of chunks.
void fill(Schedule& schedule, const Config& config, bool backward, int chunk, int keys);

// Returns the forward kernel's schedule as far as options say it, for heads of 32 keys a warp of a team.
Schedule forward_schedule(const Config& config);

}  // namespace wkvc
