// A question to a recurrence: may its decays leave the range of 16-bit operands?
#pragma once

#include "codegen/compiler.h"

namespace wkvc {

// Returns whether decays of a chunk may be steeper than 16-bit operands of factors hold: then a kernel without scales
// refuses blocks, where no range of the decays' logs was declared, or pairs of tokens have wider operands. Throws
// UserError as lower_to does.
bool may_decay_steeply(const Source& source, const Config& config);

}  // namespace wkvc
