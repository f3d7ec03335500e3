// The verifiers of operations: extents and types, the room of a block, both ends of channels, and products under way.
#include <mlir/Analysis/Liveness.h>

#include "codegen/nest/Guards.h"
#include "codegen/nest/Instructions.h"
#include "codegen/nest/Pipeline.h"
#include "codegen/nest/Printable.h"
#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc::nest {
namespace {

constexpr std::int64_t kThreads = sm_90a.warp.threads;
constexpr std::int64_t kMostRegisters = 240;  // of a thread that other warps leave theirs to
constexpr std::int64_t kLeastRegisters = 24;  // likewise
constexpr std::int64_t kSwizzledBytes = 128;  // of a row
constexpr std::int64_t kMostDepth = 32;       // of a channel

LogicalResult verify_room(KernelOp kernel) {
  if (!rec::is_cluster(static_cast<std::int64_t>(kernel.getCluster())))
    return kernel.emitOpError() << "has a cluster of " << kernel.getCluster() << " blocks; expected 1, 2, 4 or 8";
  std::int64_t warps = 0, registers = 0, bytes = 0;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
    warps += all_warps(role);
    registers += all_warps(role) * kThreads * static_cast<std::int64_t>(role.getRegisters());
    if (warps > sm_90a.block.warps)
      return role.emitOpError() << "roles have " << warps << " warps, a block " << sm_90a.block.warps;
    if (registers > sm_90a.sm.registers)
      return role.emitOpError() << "roles up to this one have " << registers << " registers, a multiprocessor "
                                << sm_90a.sm.registers << ": give a role fewer";
  }
  if (static_cast<std::int64_t>(kernel.getShared()) > sm_90a.block.shared_bytes)
    return kernel.emitOpError() << "has " << kernel.getShared() << " bytes of shared memory, a block at most "
                                << sm_90a.block.shared_bytes;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    bytes += shared_bytes(channel);
    if (bytes > static_cast<std::int64_t>(kernel.getShared()))
      return channel.emitOpError() << "channels up to this one take " << bytes
                                   << " bytes of shared memory, the kernel has " << kernel.getShared()
                                   << ": give a channel less depth";
  }
  return success();
}

// A channel goes from block to block where a chunk is one block's to make and every block's to read.
LogicalResult verify_across(ChannelOp channel) {
  const auto users = channel.getChannel().getUsers();
  const bool is_of_one =
      llvm::any_of(users, [](Operation* user) { return isa<PutOp, LoadOp>(user) && is_dealt(user); });
  const bool is_for_all = llvm::any_of(users, [](Operation* user) { return isa<GetOp>(user) && !is_dealt(user); });
  const bool crosses = blocks_of(channel) > 1 && is_of_one && is_for_all;
  if (crosses && !channel.getAcross())
    return channel.emitOpError() << "one block puts tiles that all blocks of the cluster get: say `across`";
  if (!crosses && channel.getAcross())
    return channel.emitOpError() << "goes across no cluster: each block puts what it gets";
  return success();
}

LogicalResult verify_ends(ChannelOp channel) {
  const auto producers = producers_of(channel), consumers = consumers_of(channel);
  if (producers.empty()) return channel.emitOpError() << "nobody puts a tile into this channel";
  if (producers.size() > 1)
    return channel.emitOpError() << "has two producers, '" << RoleOp(producers[0]).getSymName() << "' and '"
                                 << RoleOp(producers[1]).getSymName() << "': a channel has one";
  if (consumers.empty()) return channel.emitOpError() << "nobody gets the tiles of this channel: leave it out";
  return verify_across(channel);
}

// Returns the await of the last product that goes behind a product, all in one block; null where there is none.
AwaitOp await_of(IssueOp issue) {
  if (!issue.getResult().hasOneUse()) return {};
  Operation* const user = *issue.getResult().user_begin();
  if (user->getBlock() != issue->getBlock()) return {};
  if (auto next = dyn_cast<IssueOp>(user)) return await_of(next);
  return dyn_cast<AwaitOp>(user);
}

// Returns whether a tile in shared memory is read across its rows.
bool is_across_rows(Value operand) {
  if (auto part = operand.getDefiningOp<PartOp>()) return is_across_rows(part.getTile());
  return operand.getDefiningOp<TransposeOp>() != nullptr;
}

// A product under way is waited for once, in its block, and its operands stay until then.
LogicalResult verify_pending(IssueOp issue) {
  const AwaitOp await = await_of(issue);
  if (!await) return issue.emitOpError() << "is waited for once, by a nest.await of the same sweep";
  for (Operation* op = issue->getNextNode(); op != await; op = op->getNextNode())
    if (auto release = dyn_cast<ReleaseOp>(op))
      if (llvm::is_contained({channel_of(issue.getX()), channel_of(issue.getY())}, release.getChannel()))
        return release.emitOpError() << "this tile is still read by a product under way: wait for the product first";
  return success();
}

// Bytes of a thread's registers that a value takes; none in shared memory.
std::int64_t bytes_of_thread(Value value, RoleOp role) {
  auto tile = dyn_cast<TileType>(value.getType());
  if (auto pending = dyn_cast<PendingType>(value.getType())) tile = pending.getTile();
  Operation* const made_by = value.getDefiningOp();
  if (!tile || tile.isShared() || (made_by != nullptr && is_inlined(made_by))) return 0;
  const auto warps = tile.getLayout() == Layout::tokens ? 1 : static_cast<std::int64_t>(role.getWarps());
  return tile.bytes() / (kThreads * warps);
}

// Returns the operand whose registers an operation makes its result in; null where there is none.
Value made_in_place(Operation* op, const Liveness& liveness) {
  if (auto await = dyn_cast<AwaitOp>(op)) return await.getPending();
  auto issue = dyn_cast<IssueOp>(op);
  if (issue && issue.getSum() && liveness.isDeadAfter(issue.getSum(), op)) return issue.getSum();
  if (!isa<ElementwiseOp>(op)) return {};
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType() && liveness.isDeadAfter(operand, op)) return operand;
  return {};
}

LogicalResult verify_registers(RoleOp role) {
  Liveness liveness(role);
  LogicalResult result = success();
  role.walk([&](Operation* op) {
    if (op == role.getOperation() || isa<SweepOp>(op) || failed(result)) return;
    std::int64_t bytes = 0;
    const LivenessBlockInfo* info = liveness.getLiveness(op->getBlock());
    for (Value value : info->currentlyLiveValues(op)) bytes += bytes_of_thread(value, role);
    if (Value operand = made_in_place(op, liveness)) bytes -= bytes_of_thread(operand, role);
    const auto most = 4 * static_cast<std::int64_t>(role.getRegisters());
    if (bytes > most)
      result = op->emitOpError() << "tiles of a thread take " << bytes / 4 << " registers here, role '"
                                 << role.getSymName() << "' has " << role.getRegisters();
  });
  return result;
}

}  // namespace

LogicalResult KernelOp::verifyRegions() {
  for (Operation& op : getBody().front())
    if (!isa<ChannelOp, RoleOp>(op)) return op.emitOpError() << "a kernel has channels and roles";
  if (getBody().getOps<RoleOp>().empty()) return emitOpError() << "has no roles";
  if (failed(verify_room(*this))) return failure();
  for (ChannelOp channel : getBody().getOps<ChannelOp>())
    if (failed(verify_ends(channel))) return failure();
  LogicalResult result = success();
  walk([&](IssueOp issue) {
    if (succeeded(result)) result = verify_pending(issue);
  });
  for (RoleOp role : getBody().getOps<RoleOp>())
    if (succeeded(result)) result = verify_registers(role);
  if (failed(result) || failed(verify_pipeline(*this)) || failed(verify_guards(*this))) return failure();
  return getRecurrence() ? verify_printable(*this) : success();
}

LogicalResult ChannelOp::verify() {
  const TileType tile = tile_of(getChannel());
  if (!tile.isShared())
    return emitOpError() << "carries tiles in shared memory (swizzled, padded or plain), not as "
                         << StringRef(word_of(tile.getLayout()));
  if (tile.getLayout() == Layout::swizzled && tile.getColumns() * tile.elementBytes() % kSwizzledBytes != 0)
    return emitOpError() << "swizzled rows are multiples of " << kSwizzledBytes << " bytes, not of "
                         << tile.getColumns() * tile.elementBytes();
  if (getDepth() < 1 || static_cast<std::int64_t>(getDepth()) > kMostDepth)
    return emitOpError() << "has a depth of 1 to " << kMostDepth << ", not " << getDepth();
  if (!getOver()) return success();
  if (llvm::count_if(getOver().getUsers(), [](Operation* user) { return isa<ChannelOp>(user); }) > 1)
    return emitOpError() << "lies over a channel that another one lies over, too: the slots hold one tile";
  auto under = getOver().getDefiningOp<ChannelOp>();
  if (under.getOver() || under.getDepth() != getDepth() || tile_of(getOver()).bytes() < tile.bytes())
    return emitOpError() << "lies over a channel of the same depth, of tiles as large or larger, that is over none";
  return success();
}

LogicalResult RoleOp::verify() {
  const auto registers = static_cast<std::int64_t>(getRegisters());
  if (getWarps() < 1 || getCopies() < 1) return emitOpError() << "has at least one warp, and one copy";
  if (registers < kLeastRegisters || registers > kMostRegisters || registers % 8 != 0)
    return emitOpError() << "a thread has " << kLeastRegisters << " to " << kMostRegisters
                         << " registers, a multiple of 8, not " << registers;
  return success();
}

LogicalResult SweepOp::verify() {
  auto around = dyn_cast<SweepOp>((*this)->getParentOp());
  const bool in_groups = around && around.getOver() == "groups";
  if (getOver() != "chunks" && getOver() != "groups" && getOver() != "group")
    return emitOpError() << "goes over \"chunks\", \"groups\" or a \"group\", not \"" << getOver() << "\"";
  if ((getOver() == "group") != in_groups || (around && !in_groups))
    return emitOpError() << "a sweep over a \"group\" stands in one over \"groups\", and no other sweep does";
  if (getSize().has_value() != (getOver() == "groups") || (getSize() && (*getSize() < 2 || *getSize() > 64)))
    return emitOpError() << "a sweep over \"groups\", and no other, says `of` 2 to 64 chunks";
  return success();
}

LogicalResult SweepOp::verifyRegions() {
  Block& body = getBody().front();
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  const auto types = getCarried().getTypes();
  if (body.getArgumentTypes() != types || (yield ? yield.getNext().getTypes() != types : !types.empty()))
    return emitOpError() << "carries what its body takes and yields, of the same types";
  return success();
}

LogicalResult LoadOp::verify() {
  if (!isa<SweepOp>((*this)->getParentOp())) return emitOpError() << "stands in a sweep";
  if (getAhead() != 0 && is_dealt(*this))
    return emitOpError() << "in a dealt sweep a copy loads its own chunks: leave `ahead` out";
  return success();
}

LogicalResult PutOp::verify() {
  const TileType part = getTile().getType(), whole = tile_of(getChannel());
  const std::int64_t parts = copies_of_chunk(*this);
  if (part.getElement() != whole.getElement() ||
      part.getRows() * part.getColumns() * parts != whole.getRows() * whole.getColumns())
    return emitOpError() << parts << " times " << part << " is not " << whole;
  return success();
}

LogicalResult TransposeOp::verify() {
  const TileType from = getTile().getType(), to = getResult().getType();
  if (from.getLayout() != to.getLayout() || from.getElement() != to.getElement() || from.getRows() != to.getColumns() ||
      from.getColumns() != to.getRows())
    return emitOpError() << "exchanges the extents of a tile, not " << from << " as " << to;
  return success();
}

LogicalResult PartOp::verify() {
  const TileType from = getTile().getType(), to = getResult().getType();
  if (!from.isShared() || from.getLayout() != to.getLayout() || from.getElement() != to.getElement() ||
      from.getRows() % to.getRows() != 0 || from.getColumns() % to.getColumns() != 0)
    return emitOpError() << "is an equal part of the rows or columns of a tile in shared memory, not " << from << " as "
                         << to;
  return success();
}

LogicalResult MultiplyOp::verify() {
  const auto sum = getSum() ? std::optional(cast<TileType>(getSum().getType())) : std::nullopt;
  return verify_product(*this, getFamily(), /*is_async=*/false, getX().getType(), getY().getType(), sum,
                        getResult().getType());
}

LogicalResult IssueOp::verify() {
  if (getX().getType().getElement().isTF32() && (is_across_rows(getX()) || !is_across_rows(getY())))
    return emitOpError() << "reads tf32 along rows alone: x as it lies, and y through nest.transpose";
  if (getSum() && getBehind()) return emitOpError() << "adds to a sum or goes behind a product, not both";
  auto sum = getSum() ? std::optional(cast<TileType>(getSum().getType())) : std::nullopt;
  if (getBehind()) sum = cast<PendingType>(getBehind().getType()).getTile();
  return verify_product(*this, getFamily(), /*is_async=*/true, getX().getType(), getY().getType(), sum,
                        cast<PendingType>(getResult().getType()).getTile());
}

}  // namespace wkvc::nest
