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

// Returns the body of the first operation that is such a part of a round.
template <class RegionOp, class IsPart>
Block& first_part(warp::KernelOp kernel, IsPart is_part) {
  Block* part = nullptr;
  kernel.walk([&](RegionOp op) {
    if (part == nullptr && is_part(op)) part = &op.getBody().front();
  });
  return *part;
}

// Return where a channel is filled and read; of one that nobody fills, or reads, where others are.
Block& filled_in(warp::ChannelOp channel, warp::KernelOp kernel) {
  if (Block* part = producer_of(channel)) return *part;
  return first_part<warp::TeamOp>(kernel, [](warp::TeamOp team) { return isa<warp::SweepOp>(team->getParentOp()); });
}
Block& read_in(warp::ChannelOp channel, warp::KernelOp kernel) {
  if (Block* part = consumer_of(channel)) return *part;
  return first_part<warp::SweepOp>(kernel, [](warp::SweepOp sweep) { return sweep.getOver() == warp::Over::round; });
}

}  // namespace

void hand_over(warp::KernelOp kernel) {
  while (auto channel = open_channel(kernel)) {
    produce(filled_in(channel, kernel), channel);
    consume(read_in(channel, kernel), channel);
  }
}

}  // namespace wkvc
