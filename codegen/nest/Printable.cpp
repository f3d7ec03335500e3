#include "codegen/nest/Printable.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

constexpr int64_t kGroup = 4;  // warps

LogicalResult verify_sweep(SweepOp sweep) {
  if (sweep.getOver() == "chunks" && !sweep.getBackward() && !sweep.getDealt()) return success();
  return sweep.emitOpError() << "of a kernel that is emitted goes forward over \"chunks\", and is not dealt";
}

LogicalResult verify_channel(ChannelOp channel) {
  const Layout layout = tile_of(channel.getChannel()).getLayout();
  for (Operation* user : channel.getChannel().getUsers())
    if (isa<LoadOp>(user) && layout != Layout::swizzled)
      return user->emitOpError() << "loads swizzled tiles, not " << StringRef(word_of(layout));
  if (channel.getOver() && slot_bytes(channel) != slot_bytes(channel.getOver().getDefiningOp<ChannelOp>()))
    return channel.emitOpError() << "of a kernel that is emitted lies over tiles of as many bytes";
  return success();
}

LogicalResult verify_part(PartOp part) {
  const TileType from = part.getTile().getType(), to = part.getResult().getType();
  const auto copies = static_cast<int64_t>(role_of(part).getCopies());
  if (from.getRows() == to.getRows() && from.getColumns() == to.getColumns() * copies) return success();
  return part.emitOpError() << "of a kernel that is emitted is a copy's columns";
}

}  // namespace

LogicalResult verify_printable(KernelOp kernel) {
  if (!kernel.getChunk() || !kernel.getKeyDim() || !kernel.getValueDim() || !kernel.getTensors())
    return kernel.emitOpError() << "for a recurrence says `chunk`, `head` and `tensors`";
  if (kernel.getCluster() != 1 || kernel.getParts() != 1)
    return kernel.emitOpError() << "with a cluster or with parts can't be emitted yet: leave `for` out";
  LogicalResult result = success();
  const auto expect = [&](LogicalResult next) {
    if (succeeded(result)) result = next;
  };
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    if (role.getWarps() != kGroup)
      expect(role.emitOpError() << "of a kernel that is emitted has " << kGroup << " warps a copy");
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) expect(verify_channel(channel));
  kernel.walk([&](ComputeOp op) {
    expect(op.emitOpError() << "'" << op.getFunction() << "' has no meaning that can be emitted: write it by other "
                            << "operations, or leave `for` out");
  });
  kernel.walk([&](SweepOp sweep) { expect(verify_sweep(sweep)); });
  kernel.walk([&](PartOp part) { expect(verify_part(part)); });
  return result;
}

}  // namespace wkvc::nest
