#include "codegen/warp/Channels.h"

#include "codegen/rec/Limits.h"
#include "codegen/warp/verify/Accesses.h"

using namespace mlir;

namespace wkvc::warp {

using rec::signed_value;

namespace {

bool is_slot_operation(Operation* op) { return isa<AcquireOp, PutOp, GetOp, ReleaseOp>(op); }

// Bytes of all slots, and of their mbarriers.
int64_t slot_bytes(ChannelOp channel) {
  const int64_t slots = round_chunks(channel->getParentOfType<KernelOp>()) * signed_value(channel.getDepth());
  return slots * (signed_value(channel.getBytes()) + (is_handed_over(channel) ? kSlotMbarriers : 0));
}

bool fills(Operation* op, ChannelOp channel) {
  const Value to = isa<CopyOp>(op) ? cast<CopyOp>(op).getRing() : written_by(op);
  return to && channel_around(to) == channel;
}

bool uses(Operation* op, ChannelOp channel) {
  return llvm::any_of(op->getOperands(),
                      [&](Value x) { return is_in_shared_memory(x) && channel_around(x) == channel; });
}

// Returns the body of the first region operation of the kernel of the channel in which an operation does as asked.
template <class RegionOp, class IsPart>
Block* part_of(ChannelOp channel, IsPart is_part, bool (*does)(Operation*, ChannelOp)) {
  Block* part = nullptr;
  channel->getParentOfType<KernelOp>().walk([&](RegionOp op) {
    if (!is_part(op)) return WalkResult::advance();
    const auto found = op.walk([&](Operation* x) { return WalkResult(failure(does(x, channel))); });
    if (found.wasInterrupted()) part = &op.getBody().front();
    return WalkResult(failure(found.wasInterrupted()));
  });
  return part;
}

}  // namespace

ChannelOp channel_named_by(Operation* op) {
  for (Value operand : op->getOperands())
    if (isa<ChannelType>(operand.getType())) return operand.getDefiningOp<ChannelOp>();
  return {};
}

ChannelOp channel_around(Value shared) {
  if (auto current = shared.getDefiningOp<CurrentOp>()) shared = current.getRing();
  Operation* declaration = shared.getDefiningOp();
  return declaration ? channel_named_by(declaration) : ChannelOp();
}

bool is_handed_over(ChannelOp channel) { return channel->getParentOfType<KernelOp>().getSchedule().goes_ahead(); }

bool is_open(ChannelOp channel) {
  return is_handed_over(channel) && llvm::none_of(channel->getUsers(), is_slot_operation);
}

ChannelOp open_channel(KernelOp kernel) {
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    if (is_open(channel)) return channel;
  return {};
}

Block* producer_of(ChannelOp channel) {
  return part_of<TeamOp>(channel, [](TeamOp team) { return isa<SweepOp>(team->getParentOp()); }, fills);
}

Block* consumer_of(ChannelOp channel) {
  return part_of<SweepOp>(channel, [](SweepOp sweep) { return sweep.getOver() == Over::round; }, uses);
}

int64_t team_bytes(KernelOp kernel) {
  auto channels = kernel.getBody().getOps<ChannelOp>();
  return channels.empty() ? 0 : signed_value((*channels.begin()).getOffset());
}

int64_t begin_of_slots(ChannelOp channel) {
  auto kernel = channel->getParentOfType<KernelOp>();
  int64_t begin = kernel.getTeams() * team_bytes(kernel);
  for (auto other : kernel.getBody().getOps<ChannelOp>()) {
    if (other == channel) break;
    begin += slot_bytes(other);
  }
  return begin;
}

int64_t end_of_slots(ChannelOp channel) { return begin_of_slots(channel) + slot_bytes(channel); }

int64_t end_of_offsets(ChannelOp channel) {
  return signed_value(channel.getOffset()) + signed_value(channel.getBytes());
}

}  // namespace wkvc::warp
