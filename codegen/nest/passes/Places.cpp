#include "codegen/nest/passes/Places.h"

#include "codegen/ir/Where.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// Takes bytes one behind the other.
class Room {
 public:
  int64_t take(int64_t bytes) {
    const int64_t offset = end_;
    end_ += bytes;
    return offset;
  }
  int64_t end() const { return end_; }

 private:
  int64_t end_ = 0;
};

void place_slots(ChannelOp channel, Room& room) {
  channel.setOffset(static_cast<uint64_t>(room.take(static_cast<int64_t>(channel.getDepth()) * slot_bytes(channel))));
}

}  // namespace

int64_t place_channels(KernelOp kernel) {
  const auto channels = llvm::to_vector(kernel.getBody().getOps<ChannelOp>());
  Room room;
  for (const bool is_swizzled : {true, false})  // whose places are multiples of more bytes come first
    for (ChannelOp channel : channels)
      if (!channel.getOver() && (tile_of(channel.getChannel()).getLayout() == Layout::swizzled) == is_swizzled)
        place_slots(channel, room);
  kernel.walk([&](SolveDiagonalOp op) {
    op.setScratch(static_cast<uint64_t>(room.take(all_warps(role_of(op)) * kSubstitutionBytes)));
  });
  for (ChannelOp channel : channels) {
    if (channel.getOver()) channel.setOffset(*channel.getOver().getDefiningOp<ChannelOp>().getOffset());
    channel.setMbarriers(static_cast<uint64_t>(room.take(static_cast<int64_t>(channel.getDepth()) * kSlotMbarriers)));
  }
  if (room.end() > static_cast<int64_t>(kernel.getShared()))
    user_error_at(kernel,
                  "channels and scratch take {} bytes of shared memory, the kernel has {}: give a channel less depth",
                  room.end(), kernel.getShared());
  return room.end();
}

}  // namespace wkvc::nest
