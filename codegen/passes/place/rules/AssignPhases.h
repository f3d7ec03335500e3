// The rule of phases: an operation is in the first phase in which its operands are there. What crosses to another owner
// is there one barrier, and so one phase, later.
#pragma once

#include "codegen/passes/place/rules/Waits.h"

namespace wkvc {

// Sets the phases of all operations where one team takes part in everything.
void assign_phases(Placement& placement);

// Sets them behind teams: what waits for no state comes first, then value rows with a phase for each state, then what
// is made of states.
void assign_phases_of_teams(Placement& placement, const Waits& waits);

// Moves operations to these phases or later ones, and what reads them to where their operands are then.
void move_to(Placement& placement, const llvm::DenseMap<mlir::Operation*, int>& phases);

// Returns whether the states can go through a round with no barrier between them: without scales, and where nothing
// that value rows make of the second is made of the first, too.
bool are_independent(const Placement& placement, const Waits& waits);

}  // namespace wkvc
