// The rule of waits behind teams: what an operation's operands wait for, the operation waits for.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// What an operation waits for: nothing but inputs, the first state that goes through a round, or the second. The first
// is the saved one, where there is one.
enum class Wait { for_inputs, for_first_state, for_second_state };
using Waits = llvm::DenseMap<mlir::Operation*, Wait>;

// Returns what each operation waits for. Owners are those of assign_owners.
Waits find_waits(const Placement& placement);

}  // namespace wkvc
