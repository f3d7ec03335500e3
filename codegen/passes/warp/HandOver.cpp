#include "codegen/passes/warp/HandOver.h"

#include "codegen/warp/Channels.h"

using namespace mlir;

namespace wkvc {

namespace {

// A team acquires the slot of its chunk as late as it may: behind loads that touch no slot.
void produce(Block& part, warp::ChannelOp channel) {
  auto first = llvm::find_if(part, [](Operation& op) { return !isa<warp::TokensOp, warp::AcquireOp>(op); });
  OpBuilder b(&part, first);
  warp::AcquireOp::create(b, channel.getLoc(), channel);
  b.setInsertionPointToEnd(&part);
  warp::PutOp::create(b, channel.getLoc(), channel);
}

void consume(Block& chunk, warp::ChannelOp channel) {
  auto first = llvm::find_if(chunk, [](Operation& op) { return !isa<warp::GetOp>(op); });
  OpBuilder b(&chunk, first);
  warp::GetOp::create(b, channel.getLoc(), channel);
  b.setInsertionPoint(&chunk.back());
  warp::ReleaseOp::create(b, channel.getLoc(), channel);
}

}  // namespace

void hand_over(warp::KernelOp kernel) {
  while (auto channel = open_channel(kernel)) {
    produce(*producer_of(channel), channel);
    consume(*consumer_of(channel), channel);
  }
}

}  // namespace wkvc
