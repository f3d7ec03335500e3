// Sums over all chunks.
#pragma once

#include "codegen/passes/chunk_to_warp/BuildContext.h"

namespace wkvc {

void start_sums(const BuildContext& c);  // before the loop: sums begin with zero
void end_sums(const BuildContext& c);    // behind the loop: to their workspaces

}  // namespace wkvc
