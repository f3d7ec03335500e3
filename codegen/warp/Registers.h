// Registers that a kernel's instructions take.
#pragma once

#include <optional>

#include "codegen/warp/Warp.h"

namespace wkvc::warp {

// With fewer, ptxas can't compile the kernel; what else a thread keeps may go to memory.
int64_t least_registers(KernelOp kernel);
// The same for updates of a state of so many keys by groups of warps.
int64_t least_registers_by_groups(int64_t keys);

// Registers of each thread, by role, where warps that prepare chunks ahead give some of theirs to those of the state.
struct RoleRegisters {
  int64_t state, prepare;
};

// Returns none where all threads keep what the kernel is launched with: the state's warps have enough, or the warps of
// a role are no whole warp groups, which change their registers together (PTX ISA, setmaxnreg).
std::optional<RoleRegisters> role_registers(KernelOp kernel);

}  // namespace wkvc::warp
