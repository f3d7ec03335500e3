#include "codegen/passes/warp/DeferredDecays.h"

#include <mlir/IR/Builders.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

namespace {

// A tile times a row; null if x is none.
warp::CallOp product_by_row(Value x) {
  auto product = call_of(x, "mul");
  return product && !is_row(product.getX()[0]) && is_row(product.getX()[1]) ? product : warp::CallOp();
}

// Whether the operation stores a state, or brings one to the size in which it is stored.
bool stores(Operation* op) {
  return isa<warp::SaveStateOp, warp::StoreIntermediateOp>(op) ||
         (isa<warp::TimesPowerOp>(op) && llvm::all_of(op->getUsers(), stores));
}

bool begins_with_row(Operation* op, Value state) {
  auto product = op->getNumResults() == 1 ? product_by_row(op->getResult(0)) : warp::CallOp();
  return product && product.getX()[0] == state;
}

// The product that the state of the next chunk is, where it can be left to that chunk; else null.
warp::CallOp last_decay(warp::SweepOp inner) {
  Value state = inner.getState();
  auto decay = product_by_row(inner.getNext());
  const auto only_ends = [](Operation* user) { return isa<warp::YieldOp>(user) || stores(user); };
  const auto only_begins = [&](Operation* user) { return begins_with_row(user, state) || stores(user); };
  if (!decay || !llvm::all_of(decay->getUsers(), only_ends)) return {};
  return llvm::all_of(state.getUsers(), only_begins) ? decay : warp::CallOp();
}

// For what stores the state x, which is multiplied then.
void settle(Value x, OpBuilder& b) {
  for (Operation* user : llvm::to_vector(x.getUsers())) {
    if (!stores(user)) continue;
    b.setInsertionPoint(user);
    user->replaceUsesOfWith(x, warp::SettledOp::create(b, user->getLoc(), x));
  }
}

// Returns whether the state of the outer sweep goes through the inner one, and nowhere else.
bool goes_through(warp::SweepOp outer, warp::SweepOp inner) {
  Value state = outer.getState();
  return state && state == inner.getInit() && state.hasOneUse() && outer.getNext() == inner.getResult() &&
         inner.getResult().hasOneUse();
}

void defer(warp::SweepOp outer, warp::SweepOp inner) {
  auto decay = goes_through(outer, inner) ? last_decay(inner) : warp::CallOp();
  if (!decay) return;
  OpBuilder b(outer);
  const Location at = outer.getLoc();
  outer.setInit(warp::DecayingOp::create(b, at, outer.getInit(), Value()));
  settle(inner.getState(), b);
  b.setInsertionPoint(decay);
  Value next = warp::DecayingOp::create(b, at, decay.getX()[0], decay.getX()[1]);
  set_name(next, name_of(decay.getResult()));
  decay.replaceAllUsesWith(next);
  decay.erase();
  settle(next, b);
  b.setInsertionPointAfter(outer);
  Value settled = warp::SettledOp::create(b, at, outer.getResult());
  outer.getResult().replaceAllUsesExcept(settled, settled.getDefiningOp());
}

}  // namespace

void defer_decays(warp::KernelOp kernel) {
  if (!kernel.getPlain() || !has_producers(kernel)) return;
  for (auto outer : role_of(kernel, warp::Work::state).getBody().getOps<warp::SweepOp>())
    for (auto inner : outer.getBody().getOps<warp::SweepOp>()) defer(outer, inner);
}

}  // namespace wkvc
