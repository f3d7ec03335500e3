// Each slot of each channel is acquired, put, got and released once a round, around all that is done with it; or a pass
// is still to say where (is_open).
#include "codegen/warp/Channels.h"

#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

constexpr llvm::StringLiteral kPartBegins = "where a team begins its part of a round that it prepares";
constexpr llvm::StringLiteral kPartEnds = "where a team ends its part of a round that it prepares";
constexpr llvm::StringLiteral kSweepBegins = "where a sweep over a round begins";
constexpr llvm::StringLiteral kSweepEnds = "where a sweep over a round ends";

// Returns whether the operation is what a team does for a round that it prepares.
bool is_of_producer(Operation* op) {
  return is_in_role(op, Work::prepare) && isa<TeamOp>(op->getParentOp()) && op->getParentOfType<SweepOp>();
}

// Returns whether the operation takes the state through a chunk that was prepared.
bool is_of_consumer(Operation* op) {
  auto sweep = dyn_cast<SweepOp>(op->getParentOp());
  return sweep && sweep.getOver() == Over::round;
}

// Returns whether nothing before the operation touches a slot: loads of numbers from tensors do not, nor does `SlotOp`.
template <class SlotOp>
bool is_first(Operation* op) {
  do op = op->getPrevNode();
  while (isa_and_nonnull<TokensOp, SlotOp>(op));
  return !op;
}

// Returns what follows the operation and those of its kind behind it; null if nothing does.
template <class SlotOp>
Operation* behind_all(Operation* op) {
  do op = op->getNextNode();
  while (isa_and_nonnull<SlotOp>(op));
  return op;
}

bool is_before_last(Operation* op) {
  Operation* behind = behind_all<ReleaseOp>(op);
  return behind && !behind->getNextNode();
}

LogicalResult expect_there(Operation* op, bool is_there, llvm::StringRef place) {
  return is_there ? success() : op->emitOpError("belongs ") << place;
}

LogicalResult verify_place(Operation* op) {
  const bool produces = is_of_producer(op), consumes = is_of_consumer(op);
  if (isa<AcquireOp>(op)) return expect_there(op, produces && is_first<AcquireOp>(op), kPartBegins);
  if (isa<PutOp>(op)) return expect_there(op, produces && !behind_all<PutOp>(op), kPartEnds);
  if (isa<GetOp>(op)) return expect_there(op, consumes && is_first<GetOp>(op), kSweepBegins);
  return expect_there(op, consumes && is_before_last(op), kSweepEnds);
}

// A channel has one producer and one consumer, which name it once each.
LogicalResult verify_once(Operation* op) {
  const auto is_same = [&](Operation& other) {
    return other.getName() == op->getName() && channel_named_by(&other) == channel_named_by(op);
  };
  if (&*llvm::find_if(*op->getBlock(), is_same) == op) return success();
  return op->emitOpError("names a channel that another one before it names; expected one for each channel");
}

template <class SlotOp>
LogicalResult expect_operation(ChannelOp channel, llvm::StringRef place) {
  if (llvm::any_of(channel->getUsers(), llvm::IsaPred<SlotOp>)) return success();
  return channel.emitOpError("needs a ") << SlotOp::getOperationName() << " " << place;
}

LogicalResult verify_producer(ChannelOp channel) {
  if (!is_open(channel))
    return success(succeeded(expect_operation<AcquireOp>(channel, kPartBegins)) &&
                   succeeded(expect_operation<PutOp>(channel, kPartEnds)));
  if (producer_of(channel)) return success();
  return channel.emitOpError("is filled by no team; expected one that stores to a slot of the channel in each round");
}

LogicalResult verify_consumer(ChannelOp channel) {
  if (!is_open(channel))
    return success(succeeded(expect_operation<GetOp>(channel, kSweepBegins)) &&
                   succeeded(expect_operation<ReleaseOp>(channel, kSweepEnds)));
  if (consumer_of(channel)) return success();
  return channel.emitOpError("is read by no role; expected a sweep over a round that loads from a slot of the channel");
}

// A sweep over rounds has the one part that fills slots, or the one sweep that reads them.
LogicalResult verify_rounds(SweepOp rounds) {
  const bool prepares = is_in_role(rounds, Work::prepare);
  if (prepares && !llvm::hasSingleElement(rounds.getBody().getOps<TeamOp>()))
    return rounds.emitOpError("needs exactly one warp.team, whose slots are acquired and put once");
  if (!prepares && !llvm::hasSingleElement(rounds.getBody().getOps<SweepOp>()))
    return rounds.emitOpError("needs exactly one sweep over a round in it, by which slots are released");
  for (auto channel : rounds->getParentOfType<KernelOp>().getBody().getOps<ChannelOp>())
    if (failed(prepares ? verify_producer(channel) : verify_consumer(channel))) return failure();
  return success();
}

}  // namespace

LogicalResult verify_handover(KernelOp kernel, Operation* op) {
  for (Value operand : op->getOperands())
    if (isa<ChannelType>(operand.getType()) && !operand.getDefiningOp<ChannelOp>())
      return op->emitOpError("takes a channel that no warp.channel declares");
  if (isa<AcquireOp, PutOp, GetOp, ReleaseOp>(op)) {
    if (!is_handed_over(channel_named_by(op)))
      return op->emitOpError("belongs in a kernel whose channels go from one role to another");
    return failed(verify_place(op)) ? failure() : verify_once(op);
  }
  auto sweep = dyn_cast<SweepOp>(op);
  const bool hands_over = sweep && sweep.isOverRounds() && has_producers(kernel);
  return hands_over ? verify_rounds(sweep) : success();
}

}  // namespace wkvc::warp
