#include "codegen/emit/Batches.h"

#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

bool are_alike(warp::CopyOp a, warp::CopyOp b) {
  auto backward = [](warp::CopyOp copy) { return copy.getRing().getDefiningOp<warp::RingOp>().getBackward(); };
  return a.getAhead() == b.getAhead() && a.getNext() == b.getNext() && backward(a) == backward(b);
}

bool joins_group(Operation& op) {
  Operation *last = op.getPrevNode(), *next = &op;
  while (isa_and_nonnull<warp::ZerosOp>(last)) last = last->getPrevNode();
  while (isa_and_nonnull<warp::ZerosOp>(next)) next = next->getNextNode();
  if (!warp::is_by_groups(last) || !warp::is_by_groups(next)) return false;
  auto mma = cast<warp::MmaOp>(next);
  return warp::accumulates_in_place(mma) || !warp::is_by_groups(mma.getAcc().getDefiningOp());
}

bool joins_last(Operation& op) {
  return joins_group(op) || joins_last<warp::CopyOp>(op) || joins_last<warp::PublishMaxOp>(op) ||
         joins_last<warp::StoreOutputOp>(op) || joins_last<warp::LeaveScaleOp>(op);
}

}  // namespace wkvc
