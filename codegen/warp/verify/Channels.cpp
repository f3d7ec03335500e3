// Each slot of a channel is acquired, put, got and released once a round, around all that is done with it; or a pass is
// still to say where (is_open).
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

// Returns whether the operation is what a team does for a round that it prepares.
bool is_of_producer(Operation* op) {
  return is_in_role(op, Work::prepare) && isa<TeamOp>(op->getParentOp()) && op->getParentOfType<SweepOp>();
}

// Returns whether the operation takes the state through a chunk that was prepared.
bool is_of_consumer(Operation* op) {
  auto sweep = dyn_cast<SweepOp>(op->getParentOp());
  return sweep && sweep.getOver() == Over::round;
}

// Returns whether nothing before it touches a slot; loads of numbers from tensors do not.
bool is_first(Operation* op) {
  if (isa<TokensOp>(op)) return false;
  Operation* before = op->getPrevNode();
  while (isa_and_nonnull<TokensOp>(before)) before = before->getPrevNode();
  return !before;
}

bool is_before_last(Operation* op) { return op->getNextNode() && !op->getNextNode()->getNextNode(); }

}  // namespace

LogicalResult verify_handover(KernelOp kernel, Operation* op) {
  auto channel = channel_of(kernel);
  if (!channel || !is_handed_over(channel)) {
    if (isa<AcquireOp, PutOp, GetOp, ReleaseOp>(op))
      return op->emitOpError("belongs in a kernel whose channel goes from one role to another");
    return success();
  }
  if (is_open(channel)) return success();
  const bool produces = is_of_producer(op), consumes = is_of_consumer(op);
  if (failed(expect_where<AcquireOp>(op, produces && is_first(op),
                                     "a team begins its part of a round that it prepares")) ||
      failed(expect_where<PutOp>(op, produces && !op->getNextNode(),
                                 "a team ends its part of a round that it prepares")) ||
      failed(expect_where<GetOp>(op, consumes && is_first(op), "a sweep over a round begins")) ||
      failed(expect_where<ReleaseOp>(op, consumes && is_before_last(op), "a sweep over a round ends")))
    return failure();
  auto sweep = dyn_cast<SweepOp>(op);
  if (!sweep || !sweep.isOverRounds()) return success();
  if (is_in_role(op, Work::prepare) && !llvm::hasSingleElement(sweep.getBody().getOps<TeamOp>()))
    return op->emitOpError("needs exactly one warp.team, whose slot is acquired and put once");
  if (!is_in_role(op, Work::prepare) && !llvm::hasSingleElement(sweep.getBody().getOps<SweepOp>()))
    return op->emitOpError("needs exactly one sweep over a round in it, by which slots are released");
  return success();
}

}  // namespace wkvc::warp
