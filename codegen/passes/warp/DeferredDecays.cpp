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
warp::CallOp last_decay(warp::SweepOp round) {
  Value state = round.getState();
  auto decay = product_by_row(round.getNext());
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

// Whether the state that goes through all rounds goes through this one, and nowhere else.
bool goes_through(warp::SweepOp rounds, warp::SweepOp round) {
  Value state = rounds.getState();
  return state && state == round.getInit() && state.hasOneUse() && rounds.getNext() == round.getResult() &&
         round.getResult().hasOneUse();
}

void defer(warp::SweepOp rounds, warp::SweepOp round) {
  auto decay = goes_through(rounds, round) ? last_decay(round) : warp::CallOp();
  if (!decay) return;
  OpBuilder b(rounds);
  const Location at = rounds.getLoc();
  rounds.setInit(warp::DecayingOp::create(b, at, rounds.getInit(), Value()));
  settle(round.getState(), b);
  b.setInsertionPoint(decay);
  Value next = warp::DecayingOp::create(b, at, decay.getX()[0], decay.getX()[1]);
  set_name(next, name_of(decay.getResult()));
  decay.replaceAllUsesWith(next);
  decay.erase();
  settle(next, b);
  b.setInsertionPointAfter(rounds);
  Value settled = warp::SettledOp::create(b, at, rounds.getResult());
  rounds.getResult().replaceAllUsesExcept(settled, settled.getDefiningOp());
}

}  // namespace

void defer_decays(warp::KernelOp kernel) {
  if (!kernel.getPlain() || kernel.getRounds() == 1) return;
  for (auto rounds : role_of(kernel, warp::Work::state).getBody().getOps<warp::SweepOp>())
    for (auto round : rounds.getBody().getOps<warp::SweepOp>()) defer(rounds, round);
}

}  // namespace wkvc
