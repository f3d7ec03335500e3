// mma.sync (PTX ISA): one warp, operands and sums in its registers, done when it is issued.
#pragma once

#include "codegen/instructions/Family.h"

namespace wkvc {

inline constexpr InstructionFamily mma_sync{.name = "mma.sync",
                                            .x = Layout::fragments,
                                            .y = Layout::fragments,
                                            .sums = Layout::fragments,
                                            .is_async = false,
                                            .warps = 1,
                                            .rows = 16,
                                            .depth_bytes = 32,
                                            .columns = 8,
                                            .most_columns = 256};

}  // namespace wkvc
