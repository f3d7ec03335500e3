// wgmma with its first operand in registers (PTX ISA), and how templates/wkvc/cuda/group_mma.h cuts products into
// instructions.
#pragma once

#include "codegen/instructions/WgmmaShared.h"

namespace wkvc {

constexpr InstructionFamily with_x_in_registers(InstructionFamily family) {
  family.name = "wgmma.registers";
  family.x = Layout::operand;
  return family;
}

inline constexpr InstructionFamily wgmma_registers = with_x_in_registers(wgmma_shared);

constexpr InstructionFamily of_one_warp(InstructionFamily family) {
  family.x = family.sums = Layout::fragments;
  family.y = Layout::matrices;
  return family;
}

// Each of the four warps has this part, as templates/wkvc/cuda/group_mma.h takes it.
inline constexpr InstructionFamily wgmma_of_one_warp = of_one_warp(wgmma_registers);

// Columns of one instruction, where y lies as it is and where y is transposed.
inline constexpr std::int64_t group_mma_columns = 16, group_mma_columns_transposed = 64;

// Registers of a thread beside half of the columns. ptxas refuses an instruction with fewer. Instructions by 16, 64,
// 128 and 256 columns need 38, 62, 94 and 158 registers (CUDA 13): half the columns, four of the first operand, two of
// the second one's descriptor and 24 that ptxas keeps apart.
inline constexpr std::int64_t group_mma_registers = 4 + 2 + 24;

}  // namespace wkvc
