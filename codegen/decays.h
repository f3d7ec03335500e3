// Questions to a recurrence about its decays.
#pragma once

#include "codegen/compiler.h"

namespace wkvc {

// Returns whether decays of a chunk may be steeper than 16-bit operands of factors hold. Then pairs of tokens have
// wider operands, or, where logs of decays have no declared range, a kernel without scales refuses blocks. Throws
// UserError as lower_to does.
bool may_decay_steeply(const Source& source, const Config& config);

// Returns whether no key of a kernel without scales has a decay of its own: a token's decay is one number, or there is
// none. Throws UserError as lower_to does.
bool decays_by_numbers(const Source& source, const Config& config);

}  // namespace wkvc
