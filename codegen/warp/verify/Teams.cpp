// What is the teams' to do, and what others do with what they have prepared.
#include "codegen/warp/Channels.h"
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

class TeamRules {
 public:
  explicit TeamRules(KernelOp kernel) : kernel_(kernel) {}

  LogicalResult verify(Operation* op) const {
    auto loop = dyn_cast<SweepOp>(op);
    bool over_rounds = loop && (loop.isOverRounds() || loop.getOver() == Over::round);
    if (op->getParentOfType<TeamOp>() && is_of_rows(op))
      return op->emitOpError("is of each warp's own rows, and teams have none: it is for all warps of value rows");
    if (auto mma = dyn_cast<MmaOp>(op); mma && mma.isByGroups() && failed(verify_groups(mma))) return failure();
    if (has_producers(kernel_) && (failed(verify_ahead(op)) || failed(verify_slots_by_turns(op)))) return failure();
    if (failed(verify_joined(op)) || failed(verify_fence(op)) || failed(verify_handover(kernel_, op))) return failure();
    if (!has_slots(kernel_)) {
      if (over_rounds || isa<TeamOp>(op)) return op->emitOpError("belongs in a kernel of several teams");
      return success();
    }
    if (loop && !over_rounds) return op->emitOpError("is over what a kernel of teams has none of: it goes by rounds");
    if (auto copy = dyn_cast<CopyOp>(op);
        copy && goes_again(kernel_) && copy.getNext() != static_cast<bool>(op->getParentOfType<SweepOp>()))
      return op->emitOpError(
          "in a kernel that goes through rounds again is `next` in the sweep over them, and nowhere else");
    if (isa<AgainOp>(op) &&
        (!is_sweep_over_rounds(op->getParentOp()) || has_producers(kernel_) || !kernel_.getBackward()))
      return op->emitOpError("belongs in the sweep over rounds of a backward kernel");
    if (isa<TeamOp>(op) && !isa<RoleOp>(op->getParentOp()) && !is_over_rounds(op->getParentOp()))
      return op->emitOpError("belongs at the top of a role or in its sweep over rounds");
    bool of_ring = isa<PublishMaxOp>(op) && is_in_shared_memory(op->getOperand(0));
    if (isa<StoreSumOp>(op) && !is_of_all_slots(op))
      return op->emitOpError("sums what all slots have: it belongs outside the sweep over rounds");
    bool of_chunk = of_ring || isa<OnWarpOp, ShareOp, CopyOp>(op) || (isa<SlabsOp>(op) && !is_of_all_slots(op));
    if (of_chunk && !op->getParentOfType<TeamOp>())
      return op->emitOpError("is a team's to do: it belongs in a warp.team");
    auto round = op->getParentOfType<SweepOp>();
    bool in_slot = op->getParentOfType<TeamOp>() || (round && round.getOver() == Over::round) || is_of_other_slot(op);
    if (!in_slot && !is_of_all_slots(op) && llvm::any_of(op->getOperands(), [](Value x) { return lies_in_slot(x); }))
      return op->emitOpError("uses a slot's buffers outside a warp.team and the sweep over a round");
    if (auto ring = dyn_cast<RingOp>(op); ring && signed_value(ring.getStages()) != 1)
      return op->emitOpError() << "has " << signed_value(ring.getStages()) << " stages; expected 1 in each slot";
    return success();
  }

 private:
  // Of the rows of a state, or of values, that a warp has by its number in the block, or the part of all such warps.
  static bool is_of_rows(Operation* op) {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    auto output = dyn_cast<StoreOutputOp>(op);
    auto add = dyn_cast<AddVectorOp>(op);
    auto parameter = dyn_cast<ParameterOp>(op);
    auto publish = dyn_cast<PublishMaxOp>(op);
    auto part = dyn_cast<StoreVectorOp>(op);
    return isa<LoadStateOp, StoreStateOp, StartSummaryOp, LoadSavedOp, SaveStateOp, StoreIntermediateOp, KeepStateOp,
               CopySavedOp, LoadStagedOp, StageStateOp>(op) ||
           (load && (load.getOwn() || load.getOwnRows())) || (store && (store.getOwnRows() || store.getOwnColumns())) ||
           (output && !output.getColumn()) || (add && !add.getColumn()) || (parameter && !parameter.getColumn()) ||
           (publish && is_in_registers(publish.getX())) || (part && part.getPart() && !part.getColumn());
  }

  static bool is_sweep_over_rounds(Operation* op) {
    auto loop = dyn_cast<SweepOp>(op);
    return loop && loop.isOverRounds();
  }

  static bool is_over_rounds(Operation* op) { return isa<AgainOp>(op) || is_sweep_over_rounds(op); }

  // A row in the slot of the first or last chunk of a round, for what goes through it.
  static bool is_of_other_slot(Operation* op) {
    auto load = dyn_cast<LoadVectorOp>(op);
    return load && load.getOf();
  }

  // Rows of several chunks of a round.
  LogicalResult verify_joined(Operation* op) const {
    if (auto join = dyn_cast<JoinRowsOp>(op)) return verify_join(join);
    const bool of_other_slot = is_of_other_slot(op);
    if (has_producers(kernel_) && (of_other_slot || isa<LoadJoinedOp>(op)))
      return op->emitOpError("is of several chunks of a round, which belong in kernels of one round at a time");
    if (of_other_slot && !(is_over_rounds(op->getParentOp()) && follows_barrier(op)))
      return op->emitOpError(
          "of a chunk of the round belongs outside the sweeps over it, behind a barrier of all warps");
    if (auto load = dyn_cast<LoadJoinedOp>(op)) return verify_load(load);
    return success();
  }

  static bool stores(TeamOp team) {
    return llvm::any_of(team.getBody().front(), [](Operation& op) { return !isa<CopyOp, CommitCopiesOp>(op); });
  }

  // All warps have met since the teams' part before it, which stores.
  static bool follows_barrier(Operation* op) {
    while ((op = op->getPrevNode())) {
      if (isa<BarrierOp>(op)) return true;
      if (auto team = dyn_cast<TeamOp>(op); team && stores(team)) return false;
    }
    return false;
  }
  // All warps meet between this part of the teams and the sweeps over the round.
  static bool comes_before_states(TeamOp team) {
    Operation* next = team->getNextNode();
    while (next && !isa<BarrierOp, SweepOp>(next)) next = next->getNextNode();
    return isa_and_nonnull<BarrierOp>(next);
  }

  LogicalResult verify_join(JoinRowsOp join) const {
    auto team = isa<OnWarpOp>(join->getParentOp()) ? dyn_cast<TeamOp>(join->getParentOp()->getParentOp()) : TeamOp();
    if (!team || !is_over_rounds(team->getParentOp()) || !isa_and_nonnull<BarrierOp>(team->getPrevNode()) ||
        !comes_before_states(team))
      return join.emitOpError(
          "is for one warp of a team in a round, between two barriers of all warps before the sweeps");
    const auto type = cast<TileType>(join.getLast().getType());
    if (join.getLast() == join.getFirst() || type.getDimSize(0) != signed_value(kernel_.getKeyDim()))
      return join.emitOpError() << "joins two rows of " << kernel_.getKeyDim() << " keys";
    if (llvm::count_if(join.getLast().getUsers(), llvm::IsaPred<JoinRowsOp>) > 1)
      return join.emitOpError("joins a row that is joined elsewhere, too");
    return success();
  }

  static LogicalResult verify_load(LoadJoinedOp load) {
    if (channel_around(load.getLast()) != channel_around(load.getFirst()))
      return load.emitOpError("takes rows of one channel");
    auto loop = dyn_cast<SweepOp>(load->getParentOp());
    if (!loop || loop.getOver() != Over::round || !loop.getBackward())
      return load.emitOpError("belongs in a sweep backward over a round");
    const bool is_joined = llvm::any_of(load.getLast().getUsers(), [&](Operation* user) {
      auto join = dyn_cast<JoinRowsOp>(user);
      return join && join.getLast() == load.getLast() && join.getFirst() == load.getFirst();
    });
    return is_joined ? success() : load.emitOpError("takes rows that a warp.join_rows joins");
  }

  // All warps of value rows are there, in groups of four; what they read is written by teams, and shown to them.
  LogicalResult verify_groups(MmaOp mma) const {
    auto loop = mma->getParentOfType<SweepOp>();
    const bool of_round = loop && loop.getOver() == Over::round && !mma->getParentOfType<TeamOp>();
    if (!of_round || row_warps(kernel_) % 4 || !kernel_.getPlain())
      return mma.emitOpError(
          "by groups belongs in the sweep over a round of a plain kernel whose warps of value rows 4 divides");
    for (Operation* user : mma.getY().getUsers())
      if (isa<StoreOp>(user) && !user->getParentOfType<TeamOp>())
        return mma.emitOpError("by groups reads what teams have made, not what warps of value rows store");
    return success();
  }

  // Each warp that has stored something for contractions by groups says so before its team has done its part.
  static LogicalResult verify_fence(Operation* op) {
    auto team = op->getParentOfType<TeamOp>();
    const auto is_behind = [&](Operation* x) {
      return isa<BeforeAsyncReadsOp>(x) && team.getBody().front().findAncestorOpInBlock(*op)->isBeforeInBlock(x);
    };
    if (team && stores_matrices(op) &&
        llvm::none_of(team.getBody().front(), [&](Operation& x) { return is_behind(&x); }))
      return op->emitOpError("is for a contraction by groups: it needs a warp.before_async_reads behind it");
    if (!isa<BeforeAsyncReadsOp>(op)) return success();
    if (!isa<TeamOp>(op->getParentOp()))
      return op->emitOpError("belongs in a warp.team, outside slabs and on_warp: all its warps store");
    const auto stores = [](Operation* x) {
      return stores_matrices(x) ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (team->walk(stores).wasInterrupted()) return success();
    return op->emitOpError("is for nothing: its team stores no operand of a contraction by groups");
  }

  // Where teams go ahead no barrier is of all warps, and theirs end early.
  LogicalResult verify_ahead(Operation* op) const {
    Operation* parent = op->getParentOp();
    const bool prepares = is_in_role(op, Work::prepare);
    if (isa<TeamOp>(op) && !prepares) return op->emitOpError("belongs in the role that prepares");
    if (prepares && !op->getParentOfType<TeamOp>() && !isa<TeamOp, SweepOp, NoteOp>(op))
      return op->emitOpError("is for others than teams to do: it belongs in the role of the state");
    if (isa<BarrierOp>(op) && !isa<TeamOp>(parent))
      return op->emitOpError("would wait for warps that do not come here: with 2 rounds a barrier is a team's");
    return success();
  }

  // What teams have for all rounds and what a round's slot has are at different places, and for different warps.
  LogicalResult verify_slots_by_turns(Operation* op) const {
    if (auto publish = dyn_cast<PublishMaxOp>(op); publish && is_of_team(publish.getSlots()))
      return op->emitOpError("is to be read by those who take the state through the round: in its slot");
    if (auto publish = dyn_cast<PublishMaxOp>(op); publish && is_in_registers(publish.getX()))
      return op->emitOpError("is of all warps, which do not meet in rounds that are prepared ahead");
    if (llvm::any_of(op->getOperands(), is_of_team) && !op->getParentOfType<TeamOp>())
      return op->emitOpError("uses what the teams overwrite meanwhile: only slots are by turns");
    if (auto copy = dyn_cast<CopyOp>(op); copy && copy.getAhead() && !is_of_team(copy.getRing()))
      return op->emitOpError("is to a slot that is not this round's: only a team's own rings are copied to ahead");
    if (auto copy = dyn_cast<CopyOp>(op)) return verify_ahead_by_rounds(copy);
    if (isa<StoreOp, StoreVectorOp, AddVectorOp, StoreNumberOp, LeaveScaleOp>(op) && !op->getParentOfType<TeamOp>())
      return op->emitOpError("is to a slot for its team alone to write to");
    return success();
  }

  // Early rings have the first chunk before the sweep over rounds and the next round's in it, others this round's in
  // it.
  LogicalResult verify_ahead_by_rounds(CopyOp copy) const {
    const bool early = copy.getRing().getDefiningOp<RingOp>().getEarly();
    const int64_t expected = early && copy->getParentOfType<SweepOp>() ? round_chunks(kernel_) : 0;
    if (signed_value(copy.getAhead()) != expected)
      return copy.emitOpError() << "is " << copy.getAhead() << " chunks ahead; expected " << expected;
    return success();
  }

  // Sums over all chunks, one in each slot, before the rounds and after them.
  static bool is_of_all_slots(Operation* op) {
    return isa<SlabsOp, StoreVectorOp, StoreSumOp>(op) && !op->getParentOfType<SweepOp>() &&
           !op->getParentOfType<TeamOp>();
  }
  static bool lies_in_slot(Value x) { return isa_and_nonnull<BufferOp, FloatsOp, CurrentOp>(x.getDefiningOp()); }

  mutable KernelOp kernel_;  // whose accessors are not const
};

}  // namespace

bool is_by_groups(Operation* op) {
  auto mma = dyn_cast_or_null<MmaOp>(op);
  return mma && mma.isByGroups();
}

bool stores_matrices(Operation* op) {
  auto store = dyn_cast<StoreOp>(op);
  return store && store.getTile().getType().getLayout() == Layout::matrices;
}

LogicalResult verify_teams(KernelOp kernel, Operation* op) { return TeamRules(kernel).verify(op); }

}  // namespace wkvc::warp
