#include "codegen/passes/place/rules/Shares.h"

#include <llvm/ADT/SetVector.h>

#include "codegen/passes/place/Slabs.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

namespace {

// Contracts all of the value's rows, the values, with something else's.
bool contracts_values(Operation* user, Value x) {
  auto dot = dyn_cast<chunk::DotOp>(user);
  return isa<chunk::ColumnDotsOp>(user) || (dot && dot.getY() == x && dot.getX() != x && dot.getYDim() == 0);
}

// Empty where one of them is read otherwise.
llvm::SetVector<Operation*> operands_to_hold(const Placement& placement) {
  const int last = placement.phases() - 1;
  llvm::SetVector<Operation*> held;
  int64_t room = int64_t{sm_90a.choices.held_registers} * sm_90a.warp.threads * 32;  // in bits
  for (Operation& op : placement.body())
    for (Value x : op.getOperands()) {
      if (placement.of(&op).phase != last || placement.space(x) != Space{Axis::value, Axis::key}) continue;
      if (!contracts_values(&op, x)) return {};
      if (held.contains(x.getDefiningOp())) continue;
      const int64_t width = slab_width(last, Axis::key, placement);
      const int64_t bits = width * chunk::rows(x) * chunk::element(x).getIntOrFloatBitWidth();
      if (bits > room) continue;
      held.insert(x.getDefiningOp());
      room -= bits;
    }
  return held;
}

}  // namespace

bool fits_shares(const Placement& placement) {
  const int64_t columns = extent_of(Axis::key, placement), warps = placement.division().warps;
  chunk::ProgramOp program = placement.program();
  return program.getBackward() && program.getPlain() && placement.is_by_teams() && columns % warps == 0 &&
         columns / warps <= sm_90a.choices.share_columns && columns / warps % 16 == 0 &&
         llvm::all_of(placement.body(), [&](Operation& op) {
           const ValuePlace& place = placement.of(&op);
           return place.owner != Owner::slab || place.phase < placement.first_after_rows() ||
                  slab_axis(&op, placement) == Axis::key;
         });
}

void hold_operands(Placement& placement) {
  if (placement.division().finish == 1) return;  // nothing precedes what reads them
  for (Operation* op : operands_to_hold(placement)) placement.at(op).storage = Storage::held;
}

}  // namespace wkvc
