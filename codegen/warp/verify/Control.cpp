// Loops, the parts of teams, slabs, and kernels that sum.
#include "codegen/warp/verify/Accesses.h"
#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

LogicalResult BatchSumOp::verify() {
  if (failed(verify_stored(*this, getDtype())) || failed(verify_architecture(*this, getArch()))) return failure();
  if (getDim() == "1" && getSegments() != 1)
    return emitOpError() << "sums numbers of " << getSegments() << " segments; expected those of tokens";
  if (getDim() == "K" || getDim() == "V" || getDim() == "1") return success();
  return emitOpError() << "sums over \"" << getDim() << "\"; expected \"K\", \"V\" or \"1\"";
}

LogicalResult HeadSumOp::verify() {
  if (failed(verify_stored(*this, getDtype())) || failed(verify_architecture(*this, getArch()))) return failure();
  if (getDim() == "K" || getDim() == "V" || getDim() == "1") return success();
  return emitOpError() << "sums over \"" << getDim() << "\"; expected \"K\", \"V\" or \"1\"";
}

template <class Op>
static LogicalResult verify_no_arguments(Op op) {
  if (op.getBody().front().getNumArguments() == 0) return success();
  return op.emitOpError("takes no arguments");
}

// Whether a loop stores something to shared memory that the other uses.
static bool writes_for(SweepOp from, SweepOp to) {
  llvm::DenseSet<Value> written;
  from.walk([&](Operation* op) {
    if (Value x = written_by(op)) written.insert(x);
  });
  return to
      .walk([&](Operation* op) {
        const bool uses = llvm::any_of(op->getOperands(), [&](Value x) { return written.contains(x); });
        return uses ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Two states go through a round at once.
static bool is_beside(SweepOp loop) {
  auto other = dyn_cast_or_null<SweepOp>(loop->getPrevNode());
  if (!other || other.getOver() != Over::round || loop.getOver() != Over::round || other.getBackward() ||
      !loop.getBackward())
    return false;
  auto has_barrier = [](SweepOp x) { return !x.getBody().getOps<BarrierOp>().empty(); };
  return other.getResult() && other.getResult().use_empty() && !has_barrier(other) && !has_barrier(loop) &&
         !writes_for(other, loop) && !writes_for(loop, other);
}

LogicalResult SweepOp::verify() {
  const Over over = getOver();
  auto outer = getOperation()->getParentOfType<SweepOp>();
  if (getAhead() && over != Over::groups) return emitOpError("copies ahead from group to group only over groups");
  if (auto kernel = getOperation()->getParentOfType<KernelOp>();
      kernel && isOverRounds() && !getCarried().empty() && getBackward() != kernel.getBackward())
    return emitOpError("goes through rounds from the first in a forward kernel, from the last in a backward one");
  if (getBeside() && !is_beside(*this))
    return emitOpError(
        "needs a sweep right before it through the same round, forward where it is backward, which neither "
        "gives it anything nor has a barrier");
  const bool is_inner = over == Over::group || over == Over::round;
  const auto is_around = [&] { return over == Over::group ? outer.getOver() == Over::groups : outer.isOverRounds(); };
  if (outer ? is_inner && is_around() : !is_inner) return success();
  return emitOpError("a sweep over one group or round belongs inside a sweep over those, and nothing else does");
}

LogicalResult EndLastOp::verify() {
  auto loop = dyn_cast<SweepOp>((*this)->getParentOp());
  if (loop && loop.getOver() == Over::round && !loop.getBackward() && loop.getResult() && loop.getResult().use_empty())
    return success();
  return emitOpError("belongs in a sweep forward over a round, whose result nothing reads");
}

LogicalResult SweepOp::verifyRegions() {
  Block& body = getBody().front();
  if (getCarried().empty()) return verify_no_arguments(*this);
  if (getCarried().size() > 1) return emitOpError() << "carries " << getCarried().size() << " states; expected one";
  Type carried = getInit().getType();
  if (body.getNumArguments() != 1 || body.getArgument(0).getType() != carried)
    return emitOpError() << "carries its state in one argument of its body, of " << carried;
  auto yield = dyn_cast<YieldOp>(body.back());
  if (yield && yield.getNext().getType() == carried) return success();
  return emitOpError() << "ends with a warp.yield of " << carried;
}

LogicalResult AgainOp::verifyRegions() {
  Block& body = getBody().front();
  if (body.getNumArguments()) return emitOpError("takes no arguments");
  if (auto yield = dyn_cast<YieldOp>(body.back()); !yield || yield.getNext().getType() != getResult().getType())
    return emitOpError() << "ends with a warp.yield of " << getResult().getType();
  if (!getSaved().getDefiningOp<LoadSavedOp>()) return emitOpError("begins with what a warp.load_saved gives");
  auto loops = body.getOps<SweepOp>();
  if (llvm::hasSingleElement(loops) && !(*loops.begin()).getBackward() && !body.getOps<TeamOp>().empty())
    return success();
  return emitOpError("needs a warp.team and one loop over the round, forward");
}

LogicalResult SlabsOp::verify() {
  if (getStrips() && !llvm::is_contained({32, 64, 128}, slab_width(*this)))
    return emitOpError() << "has strips of " << slab_width(*this) << " columns; expected 32, 64 or 128";
  if (rec::is_extent(signed_value(getColumns()))) return success();
  return emitOpError() << "has " << signed_value(getColumns()) << " columns; expected " << rec::extents_text;
}

LogicalResult ShareOp::verify() {
  if (rec::is_extent(signed_value(getWidth()))) return success();
  return emitOpError() << "has " << signed_value(getWidth()) << " columns; expected " << rec::extents_text;
}

LogicalResult SlabsOp::verifyRegions() {
  Block& body = getBody().front();
  if (body.getNumArguments() == 1 && body.getArgument(0).getType().isIndex()) return success();
  return emitOpError("has one argument, the index of the first column");
}

LogicalResult OnWarpOp::verifyRegions() { return verify_no_arguments(*this); }
LogicalResult TeamOp::verifyRegions() { return verify_no_arguments(*this); }
LogicalResult RoleOp::verifyRegions() { return verify_no_arguments(*this); }

}  // namespace wkvc::warp
