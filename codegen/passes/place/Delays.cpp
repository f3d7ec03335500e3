#include "codegen/passes/place/Delays.h"

#include "codegen/passes/chunk/Factors.h"
#include "codegen/passes/place/Owners.h"

using namespace mlir;

namespace wkvc {

static void move(Operation* op, int phase, Placement& placement) {
  placement.at(op).phase = placement.at(op).last = phase;
}

void delay_slabs(Placement& placement) {
  for (Operation& op : llvm::reverse(placement.body())) {
    if (op.getNumResults() == 0 || placement.of(&op).owner != Owner::slab || op.use_empty()) continue;
    if (is_kept_factor(&op)) continue;
    int phase = placement.phases();
    for (Operation* user : op.getUsers()) {
      const bool local = placement.of(user).owner == Owner::slab && !crosses(op.getResult(0), user, placement);
      phase = std::min(phase, placement.of(local ? user : &op).phase);
    }
    move(&op, phase, placement);
  }
}

void delay_matrices(Placement& placement) {
  for (Operation& op : llvm::reverse(placement.body())) {
    const ValuePlace& place = placement.of(&op);
    if (place.owner != Owner::matrix || place.phase >= placement.first_of_rows() || op.getNumResults() != 1) continue;
    const bool late = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation* user) {
      return placement.of(user).phase - crosses(op.getResult(0), user, placement) >= placement.first_after_rows();
    });
    if (late) move(&op, placement.first_after_rows(), placement);
  }
}

}  // namespace wkvc
