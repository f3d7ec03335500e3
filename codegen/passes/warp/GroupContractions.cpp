#include "codegen/passes/warp/GroupContractions.h"

#include <mlir/IR/Builders.h>

#include "codegen/instructions/WgmmaRegisters.h"
#include "codegen/passes/warp/CheckRegisters.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

namespace {

// The contractions that a state's next value adds to it.
int64_t contractions_in(Value next) {
  if (auto mma = next.getDefiningOp<warp::MmaOp>()) return 1 + contractions_in(mma.getAcc());
  auto call = next.getDefiningOp<warp::CallOp>();
  if (!call || !llvm::is_contained({"mul", "add"}, call.getFunction())) return 0;
  return contractions_in(call.getX()[0]) + (call.getFunction() == "add" ? contractions_in(call.getX()[1]) : 0);
}

// Whether the states that go through this round are updated by more contractions than there are states.
bool updates_by_several(Block& outer) {
  int64_t states = 0, updates = 0;
  for (auto loop : outer.getOps<warp::SweepOp>()) {
    if (!loop.getState()) continue;
    ++states;
    updates += contractions_in(loop.getNext());
  }
  return updates > states;
}

bool pays(warp::MmaOp mma, warp::KernelOp kernel) {
  auto buffer = mma.getY().getDefiningOp<warp::BufferOp>();
  if (!warp::is_in_registers(mma.getX()) || !buffer || mma.getYColumn()) return false;
  auto type = cast<warp::TileType>(buffer.getType());
  const auto keys = static_cast<int64_t>(kernel.getKeyDim());
  return warp::may_be_matrices(type.getElementType()) && type.getDimSize(1) == keys &&
         mma.getAcc().getType().getDimSize(1) % warp::group_columns(mma.getYTransposed()) == 0 &&
         (mma.getYTransposed() || !has_producers(kernel));
}

void take(warp::MmaOp mma) {
  mma.setFamily(warp::Family::wgmma_registers);
  mma.getY().setType(mma.getY().getType().withLayout(Layout::matrices));
}

void mark(warp::SweepOp round, warp::KernelOp kernel) {
  const bool wide = sm_90a.is_wide(static_cast<int64_t>(kernel.getKeyDim()));
  if (!wide && (has_producers(kernel) || !updates_by_several(*round->getBlock()))) return;
  for (auto mma : round.getBody().getOps<warp::MmaOp>())
    if (pays(mma, kernel)) take(mma);
}

// Behind what a team has stored for contractions by groups, before it puts slots of any channel, unless a fence is
// there.
void add_fence(warp::TeamOp team) {
  if (!team.getBody().getOps<warp::BeforeAsyncReadsOp>().empty()) return;
  const auto stores = [](Operation* op) {
    return warp::stores_matrices(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (!team->walk(stores).wasInterrupted()) return;
  Block& body = team.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  if (auto puts = body.getOps<warp::PutOp>(); !puts.empty()) b.setInsertionPoint(*puts.begin());
  warp::BeforeAsyncReadsOp::create(b, team.getLoc());
}

}  // namespace

void contract_by_groups(warp::KernelOp kernel) {
  if (!kernel.getPlain() || !has_slots(kernel) || warp::row_warps(kernel) % wgmma_registers.warps) return;
  kernel.walk([&](warp::SweepOp loop) {
    if (loop.getOver() == warp::Over::round) mark(loop, kernel);
  });
  kernel.walk(add_fence);
  check_registers(kernel);
}

}  // namespace wkvc
