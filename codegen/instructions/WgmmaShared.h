// wgmma with both operands in shared memory (PTX ISA, asynchronous warpgroup level matrix instructions).
#pragma once

#include "codegen/instructions/Family.h"

namespace wkvc {

inline constexpr InstructionFamily wgmma_shared{.name = "wgmma.shared",
                                                .x = Layout::swizzled,
                                                .y = Layout::swizzled,
                                                .sums = Layout::sums,
                                                .is_async = true,
                                                .warps = 4,
                                                .rows = 64,
                                                .depth_bytes = 32,
                                                .columns = 8,
                                                .most_columns = 256};

}  // namespace wkvc
