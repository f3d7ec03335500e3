#include "codegen/passes/warp/DropUnread.h"

#include <mlir/IR/Iterators.h>

using namespace mlir;

namespace wkvc {

// A team that has waited for the copies of its chunk lists all tiles that came.
static bool is_listed(warp::CurrentOp tile) {
  auto team = dyn_cast<warp::TeamOp>(tile->getParentOp());
  return team && !team.getBody().getOps<warp::WaitCopiesOp>().empty();
}

static bool is_dropped(Operation* op) {
  if (!op->use_empty()) return false;
  if (auto tile = dyn_cast<warp::CurrentOp>(op)) return !is_listed(tile);
  return isa<warp::CallOp, warp::LoadOp, warp::LoadNumberOp, warp::ScaleForOp>(op);
}

void drop_unread(warp::KernelOp kernel) {
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation* op) {
    if (is_dropped(op)) op->erase();
  });
}

}  // namespace wkvc
