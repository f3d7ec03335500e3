// Whether the kernel without scales checks how steep decays are.
#pragma once

#include "codegen/compiler.h"

namespace wkvc {

// Returns whether a block may be refused for decays that are too steep for a chunk, since no declared range bounds
// their logs. False where there is no such kernel. Throws UserError as lower_to does.
bool checks_decays(const Source& source, const Config& config);

}  // namespace wkvc
