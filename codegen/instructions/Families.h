// All families of instructions that multiply tiles.
#pragma once

#include <array>

#include "codegen/instructions/MmaSync.h"
#include "codegen/instructions/WgmmaRegisters.h"
#include "codegen/instructions/WgmmaShared.h"

namespace wkvc {

inline constexpr std::array instruction_families{&mma_sync, &wgmma_shared, &wgmma_registers};

// Returns the family of a name; null where there is none.
constexpr const InstructionFamily* find_family(std::string_view name) {
  for (const InstructionFamily* family : instruction_families)
    if (family->name == name) return family;
  return nullptr;
}

}  // namespace wkvc
