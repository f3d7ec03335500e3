// Sums that carry a scale, and states that are still to decay: who takes them, and who may not.
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

static SweepOp over(YieldOp yield) { return dyn_cast<SweepOp>(yield->getParentOp()); }

LogicalResult CarriedRules::verify(Operation* op) {
  if (failed(verify_sums(op))) return failure();
  return verify_decaying(op);
}

// Sums that carry a scale, where that is understood.
LogicalResult CarriedRules::verify_sums(Operation* op) {
  auto carries = [&](Value x) { return sums_.contains(x); };
  auto call = dyn_cast<CallOp>(op);
  auto round = dyn_cast<RoundOp>(op);
  auto mma = dyn_cast<MmaOp>(op);
  auto loop = dyn_cast<SweepOp>(op);
  bool by_row = call && call.getFunction() == "mul" && call.getX().size() == 2 && carries(call.getX()[0]) &&
                cast<TileType>(call.getX()[1].getType()).getDimSize(0) == 1 && !carries(call.getX()[1]);
  bool on_sum = mma && carries(mma.getAcc()), over_sum = loop && loop.getInit() && carries(loop.getInit());
  bool selected = call && llvm::is_contained({"tril", "tril_strict", "level_pairs", "add"}, call.getFunction()) &&
                  llvm::all_of(call.getX(), carries);
  if (over_sum) sums_.insert(loop.getBody().getArgument(0));
  if (by_row || on_sum || over_sum || (mma && mma.getNewScale()) || selected || isa<WithScaleOp, FitScaleOp>(op))
    sums_.insert(op->getResult(0));
  if (auto fit = dyn_cast<FitScaleOp>(op); fit && !carries(fit.getX()))
    return op->emitOpError("takes a sum that carries a scale");
  bool from_sum = round && (round.getInScale() || round.getAsIs());
  bool to_another = round && (round.getScale() || round.getOwn());
  if (round && (carries(round.getX()) ? !from_sum && !to_another : from_sum))
    return op->emitOpError("takes its scale from sums that carry one, and from nothing else");
  if (mma && mma.getInScale() + mma.getSameScale() + mma.getNewScale() > 1)
    return op->emitOpError("is in one scale or another, not in several");
  bool scaled = mma && (mma.getXScale() || has_scale(mma.getX())) && (mma.getYScale() || has_scale(mma.getY()));
  if (mma && (mma.getSameScale() || mma.getNewScale()) && !scaled)
    return op->emitOpError("in the scale of its operands needs one of each");
  if (mma && (mma.getSameScale() ? !on_sum : mma.getNewScale() && on_sum))
    return op->emitOpError("in the same scale needs an accumulator that carries it, in a new one one that has none");
  bool brought = mma && is_in_registers(mma.getX()) && has_scale(mma.getX());
  if (mma && mma.getInScale() && !(on_sum && brought))
    return op->emitOpError("in scale needs an accumulator that carries one, and x rounded with a scale");
  auto has_slabs = [](Value x) { return x.getDefiningOp<BufferOp>() && x.getDefiningOp<BufferOp>().getSlabs(); };
  if (on_sum && (has_slabs(mma.getX()) || has_slabs(mma.getY())))
    return op->emitOpError("a sum that carries a scale takes operands of one scale, not one for each slab");
  if (auto yield = dyn_cast<YieldOp>(op);
      yield && over(yield) && carries(yield.getNext()) != carries(over(yield).getBody().getArgument(0)))
    return op->emitOpError("ends with a sum that carries a scale only if the sweep began with one");
  bool takes = by_row || on_sum || over_sum || selected || round ||
               isa<YieldOp, WithoutScaleOp, RoundBesideOp, FitScaleOp, PublishMaxOp>(op);
  if (!takes && llvm::any_of(op->getOperands(), carries))
    return op->emitOpError("takes no sum that carries a scale: take what warp.without_scale gives");
  return success();
}

// States that are still to be multiplied by a row, where that is understood.
LogicalResult CarriedRules::verify_decaying(Operation* op) {
  auto decays = [&](Value x) { return decaying_.contains(x); };
  auto call = dyn_cast<CallOp>(op);
  auto loop = dyn_cast<SweepOp>(op);
  auto yield = dyn_cast<YieldOp>(op);
  const bool by_row = call && call.getFunction() == "mul" && decays(call.getX()[0]) && !decays(call.getX()[1]) &&
                      cast<TileType>(call.getX()[1].getType()).getDimSize(0) == 1;
  if (isa<DecayingOp>(op) || (loop && loop.getInit() && decays(loop.getInit()))) decaying_.insert(op->getResult(0));
  if (loop && loop.getInit() && decays(loop.getInit())) decaying_.insert(loop.getBody().getArgument(0));
  if (auto settled = dyn_cast<SettledOp>(op); settled && !decays(settled.getX()))
    return op->emitOpError("takes a state that is still to decay");
  if (yield && over(yield) && decays(yield.getNext()) != decays(over(yield).getBody().getArgument(0)))
    return op->emitOpError("ends with a state that is still to decay only if the sweep began with one");
  if (by_row || loop || yield || isa<SettledOp>(op) || llvm::none_of(op->getOperands(), decays)) return success();
  return op->emitOpError("takes no state that is still to decay: take what warp.settled gives");
}

}  // namespace wkvc::warp
