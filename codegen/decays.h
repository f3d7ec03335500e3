// Questions to a recurrence about its decays: may they leave the range of 16-bit operands, and is each one number?
#pragma once

#include "codegen/compiler.h"

namespace wkvc {

// Returns whether decays of a chunk may be steeper than 16-bit operands of factors hold: then a kernel without scales
// refuses blocks, where no range of the decays' logs was declared, or pairs of tokens have wider operands. Throws
// UserError as lower_to does.
bool may_decay_steeply(const Source& source, const Config& config);

// Returns whether no key has a decay of its own: a token's decay is one number, or there is none. Throws UserError as
// lower_to does.
bool decays_by_numbers(const Source& source, const Config& config);

}  // namespace wkvc
