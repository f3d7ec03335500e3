// wgmma with its first operand in registers (PTX ISA). templates/wkvc/cuda/group_mma.h cuts products into instructions.
// An instruction holds its sums and some registers more at once; ptxas refuses it with fewer.
// Instructions by 16, 64, 128 and 256 columns need 38, 62, 94 and 158 registers (CUDA 13): half the columns, four of
// the first operand, two of the second one's descriptor and 24 that ptxas keeps apart.
#pragma once

#include "codegen/instructions/Family.h"

namespace wkvc {

inline constexpr InstructionFamily wgmma_registers{.name = "wgmma.registers",
                                                   .x = OperandPlace::rounded,
                                                   .y = OperandPlace::swizzled,
                                                   .sums = OperandPlace::sums,
                                                   .is_async = true,
                                                   .warps = 4,
                                                   .rows = 64,
                                                   .depth_bytes = 32,
                                                   .columns = 8,
                                                   .most_columns = 256,
                                                   .columns_at_once = 16,
                                                   .columns_at_once_transposed = 64,
                                                   .registers = 4 + 2 + 24};

}  // namespace wkvc
