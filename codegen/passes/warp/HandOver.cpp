#include "codegen/passes/warp/HandOver.h"

using namespace mlir;

namespace wkvc {

namespace {

// A team acquires the slot of its chunk as late as it may: behind loads that touch no slot.
void produce(Block& part, warp::ChannelOp channel) {
  auto first = llvm::find_if(part, [](Operation& op) { return !isa<warp::TokensOp>(op); });
  OpBuilder b(&part, first);
  warp::AcquireOp::create(b, channel.getLoc(), channel);
  b.setInsertionPointToEnd(&part);
  warp::PutOp::create(b, channel.getLoc(), channel);
}

void consume(Block& chunk, warp::ChannelOp channel) {
  OpBuilder b(&chunk, chunk.begin());
  warp::GetOp::create(b, channel.getLoc(), channel);
  b.setInsertionPoint(&chunk.back());
  warp::ReleaseOp::create(b, channel.getLoc(), channel);
}

}  // namespace

void hand_over(warp::KernelOp kernel) {
  auto channel = channel_of(kernel);
  if (!channel || !is_open(channel)) return;
  role_of(kernel, warp::Work::prepare).walk([&](warp::SweepOp sweep) {
    for (auto team : sweep.getBody().getOps<warp::TeamOp>()) produce(team.getBody().front(), channel);
  });
  role_of(kernel, warp::Work::state).walk([&](warp::SweepOp sweep) {
    if (sweep.getOver() == warp::Over::round) consume(sweep.getBody().front(), channel);
  });
}

}  // namespace wkvc
