#include "codegen/passes/place/rules/Storage.h"

#include "codegen/passes/chunk/Factors.h"
#include "codegen/passes/place/Slabs.h"
#include "codegen/passes/place/rules/Owners.h"
#include "codegen/passes/place/rules/StandIns.h"
#include "codegen/passes/place/rules/Waits.h"

using namespace mlir;

namespace wkvc {

namespace {

// Other slab values are computed again.
bool is_kept(Operation* op, Stored keep) {
  if (is_kept_factor(op)) return keep >= Stored::factors;
  if (isa<chunk::CumsumOp>(op)) return keep >= Stored::sums;
  if (isa<chunk::SigmoidOp, chunk::TanhOp, chunk::SoftplusOp>(op)) return keep >= Stored::activations;
  if (isa<chunk::ExpOp, chunk::Exp2Op>(op)) return keep == Stored::exponentials;
  return is_contraction(op) || is_accumulator(op) || isa<chunk::SumRowsOp>(op);
}

class Storer {
 public:
  Storer(Placement& placement, Stored keep)
      : placement_(placement), keep_(keep), waits_(find_waits(placement)), holds_any_(holds_any(placement)) {}

  // What crosses first: it need not be computed again.
  void run() {
    share_crossing([](Value operand) { return static_cast<bool>(operand.getDefiningOp<chunk::RoundOp>()); });
    find_stand_ins(placement_);
    share_crossing([](Value) { return true; });
    for (Operation& op : placement_.body()) {
      const int phase = placement_.of(&op).phase;
      const bool by_share =
          in_shares(phase, placement_) && placement_.of(&op).owner == Owner::slab && phase == placement_.phases() - 1;
      for (Value operand : op.getOperands()) use(operand, phase, by_share);
    }
  }

 private:
  void share(Value value) {
    Storage& storage = placement_.at(value.getDefiningOp()).storage;
    if (storage == Storage::registers) storage = Storage::shared;
  }

  template <class F>
  void share_crossing(F is_chosen) {
    for (Operation& op : placement_.body())
      for (Value operand : op.getOperands()) {
        if (!is_chosen(operand) || stand_in(operand, placement_.of(&op).phase, placement_)) continue;
        const bool slab = !is_source(operand) && placement_.of(operand).owner == Owner::slab;
        const bool from_memory = slab && is_contraction(&op) && !is_transposed(operand, &op, placement_);
        if (from_memory || crosses(operand, &op, placement_)) share(operand);
      }
  }

  // Whether warps that have a share each hold this input, a tile, before the last phase.
  bool may_hold(Value operand) const {
    const bool is_tile = operand.getDefiningOp<chunk::InputOp>() && chunk::columns(operand) > 1;
    return holds_any_ && is_tile && llvm::none_of(operand.getUsers(), is_contraction);
  }

  // Whether a later phase computes the value again from its operands.
  bool is_made_again(Operation* op) const {
    const Owner owner = placement_.of(op).owner;
    if (owner == Owner::anyone || owner == Owner::matrix) return owner == Owner::anyone;
    if (owner == Owner::rows) return waits_.lookup(op) == Wait::for_inputs && is_elementwise(op);
    return !is_kept(op, keep_);
  }

  // A value read in `phase`, by warps that have a share each, or by others.
  void use(Value operand, int phase, bool by_share) {
    if (auto round = stand_in(operand, phase, placement_)) return use(round.getResult(), phase, by_share);
    Operation* op = operand.getDefiningOp();
    ValuePlace& place = placement_.at(op);
    if (by_share && may_hold(operand)) place.storage = Storage::held;
    if (by_share && place.storage == Storage::held) --phase;
    place.last = std::max(place.last, phase);
    if (is_source(operand) || placement_.is_shared(operand) || place.phase == phase) return;
    if (place.owner == Owner::rows && !placement_.is_by_teams()) return;  // its registers stay
    if (is_made_again(op)) {
      for (Value x : op->getOperands()) use(x, phase, by_share);
      return;
    }
    // Registers of slab loops and of one warp's matrices end with their phase; behind teams those of value rows end
    // with the state that is taken through the round.
    share(operand);
  }

  Placement& placement_;
  Stored keep_;
  Waits waits_;
  bool holds_any_;
};

}  // namespace

void store_values(Placement& placement, Stored keep) { Storer(placement, keep).run(); }

}  // namespace wkvc
