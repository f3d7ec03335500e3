// All parts of a kernel's verification, and those without a file of their own: types that templates/ has, what belongs
// where, guards, rings, and how many warps there are.
#include "codegen/rec/Limits.h"
#include "codegen/warp/Channels.h"
#include "codegen/warp/Registers.h"
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

constexpr int64_t kMaxTile = 256;  // rows or columns

//===- Types -----------------------------------------------------------------------------------------------------===//

bool is_tile_size(int64_t size) { return size == 1 || (size > 0 && size <= kMaxTile && size % 16 == 0); }

bool is_in_memory(TileType type) {
  if (type.isArray()) return type.getDimSize(0) > 0 && type.getDimSize(0) <= kMaxTile * sm_90a.block.warps;
  return llvm::all_of(type.getShape(), [](int64_t size) { return size != 1 && is_tile_size(size); });
}

LogicalResult verify_type(Operation* op, Type type) {
  auto tile = dyn_cast<TileType>(type);
  if (!tile) return success();
  if (tile.getLayout() == Layout::matrices && !isa<BufferOp>(op))
    return op->emitOpError() << "has the type " << type << "; only buffers lie as matrices";
  if (tile.isInSharedMemory() && !is_in_memory(tile))
    return op->emitOpError() << "has the type " << type << "; sizes in shared memory are multiples of 16 up to "
                             << kMaxTile;
  if (llvm::all_of(tile.getShape(), is_tile_size) || tile.isInSharedMemory()) return success();
  return op->emitOpError() << "has the type " << type << "; sizes of tiles are 1 or multiples of 16 up to " << kMaxTile;
}

//===- Operations in their places --------------------------------------------------------------------------------===//

class Structure {
 public:
  explicit Structure(KernelOp kernel) : kernel_(kernel), tensors_(kernel) {}

  LogicalResult verify(Operation* op) {
    if (!isa_and_nonnull<WarpDialect>(op->getDialect())) return op->emitOpError("does not belong in a warp.kernel");
    if (isa<KernelOp, BatchSumOp, HeadSumOp, CombineOp>(op)) return op->emitOpError("can't be inside a warp.kernel");
    if (failed(verify_types(op)) || failed(verify_place(op)) || failed(verify_rings(op))) return failure();
    if (failed(verify_tensor(kernel_, tensors_, op)) || failed(verify_warps(op)) ||
        failed(verify_extents(kernel_, tensors_, op)) || failed(carried_.verify(op)))
      return failure();
    shared_.add(op);
    return success();
  }

  LogicalResult verify_shared_bytes() const { return shared_.verify(kernel_); }

 private:
  static LogicalResult verify_types(Operation* op) {
    for (Value result : op->getResults())
      if (failed(verify_type(op, result.getType()))) return failure();
    return success();
  }

  LogicalResult verify_place(Operation* op) const {
    Operation* parent = op->getParentOp();
    auto loop = dyn_cast<SweepOp>(parent);
    bool in_groups = loop && loop.getOver() == Over::groups;
    bool of_group = in_groups && isa<RingOp, SweepOp>(op);
    bool of_round = isa<SweepOp>(op) && (isa<AgainOp>(parent) || (loop && loop.isOverRounds()));
    const bool is_memory = is_declaration(op);
    if (is_memory && !isa<KernelOp, RoleOp>(parent) && !of_group)
      return op->emitOpError("belongs at the top of the kernel or of a role");
    if (isa<SweepOp>(op) && !isa<RoleOp>(parent) && !of_group && !of_round)
      return op->emitOpError("belongs at the top of a role");
    if (isa<KernelOp>(parent) && !is_memory && !isa<RoleOp, NoteOp, ExpectOp, OnlyRefusedOp, ChannelOp>(op))
      return op->emitOpError("is for the warps of a role to do: it belongs in a warp.role");
    if (speaks_of_groups(op) && !is_in_groups(op))
      return op->emitOpError("speaks of groups outside a sweep over them that copies ahead");
    if (isa<StartSummaryOp>(op) && !op->getParentOfType<KernelOp>().getSummary())
      return op->emitOpError("belongs in a summary kernel");
    if (isa<CurrentOp>(op) && !op->getParentOfType<SweepOp>()) return op->emitOpError("needs a sweep around it");
    if (isa<BarrierOp>(op) && !isa<RoleOp, SweepOp, TeamOp, AgainOp>(parent))
      return op->emitOpError("would wait for warps that do not come here: barriers belong outside slabs and on_warp");
    if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.getRefuses() && !(kernel_.getPlain() && loop))
      return op->emitOpError("refuses: it belongs in a sweep of a plain kernel");
    if (isa<LeaveScaleOp>(op) && !isa<SweepOp>(parent))
      return op->emitOpError("is for the block's first warp to do: it belongs in a sweep, outside slabs and on_warp");
    if (isa<CopyOp, PublishMaxOp>(op) && !isa<RoleOp, SweepOp, TeamOp>(parent))
      return op->emitOpError("is each warp's own part: it belongs outside slabs and on_warp");
    if (failed(verify_strips(op)) || failed(verify_teams(kernel_, op)) || failed(verify_guard(op))) return failure();
    if (auto inverse = dyn_cast<UnitLowerInverseOp>(op)) return verify_alone(inverse);
    return success();
  }

  // A kernel begins by finding out which blocks it is for, and a plain one ends with what it has found meanwhile.
  LogicalResult verify_guard(Operation* op) const {
    const bool first = isa<KernelOp>(op->getParentOp()) && !op->getPrevNode();
    const bool before_end = isa<RoleOp>(op->getParentOp()) && is_before_last_state(op);
    if (failed(expect_where<ExpectOp>(op, first && kernel_.getPlain(), "a plain kernel begins")) ||
        failed(expect_where<OnlyRefusedOp>(op, first && kernel_.getRefused(), "a refused kernel begins")) ||
        failed(expect_where<RefuseOp>(op, before_end && kernel_.getPlain(), "a plain kernel leaves its state")))
      return failure();
    return success();
  }
  // Operations that change its size aside.
  static bool is_before_last_state(Operation* op) {
    Operation* next = op->getNextNode();
    while (isa_and_nonnull<TimesUnitOp, TimesPowerOp>(next)) next = next->getNextNode();
    return isa_and_nonnull<StoreStateOp>(next) && !isa<TimesUnitOp, TimesPowerOp>(op);
  }

  // Returns whether templates/wkvc/cuda/strips.h has the operation; what it has of calls, their verifier knows.
  static bool is_for_strips(Operation* op) {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    auto vector = dyn_cast<StoreVectorOp>(op);
    auto parameter = dyn_cast<ParameterOp>(op);
    auto round = dyn_cast<RoundOp>(op);
    return (load && load.getColumn() && !load.getTransposed()) || (store && store.getColumn()) ||
           (vector && vector.getColumn()) || (parameter && parameter.getColumn()) ||
           (round && !round.getOwn() && !round.getInScale() && !round.getAsIs()) ||
           isa<CallOp, TokensOp, WidenOp, WidenOverOp, TimesUnitOp>(op);
  }

  // Slabs that have strips have nothing else in registers, and nothing else has strips.
  static LogicalResult verify_strips(Operation* op) {
    auto slabs = dyn_cast<SlabsOp>(op->getParentOp());
    const bool has_strips = slabs && slabs.getStrips();
    if (has_strips && !is_for_strips(op)) return op->emitOpError("is nothing that tiles in strips are for");
    for (ValueRange tiles : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value tile : tiles)
        if (is_in_registers(tile) && is_in_strips(tile) != has_strips)
          return op->emitOpError() << "has " << tile.getType() << " in "
                                   << (has_strips ? "slabs that have strips" : "no slabs that have strips");
    return success();
  }

  // Its scratch is nobody else's.
  static LogicalResult verify_alone(UnitLowerInverseOp op) {
    if (!isa<OnWarpOp>(op->getParentOp())) return op->emitOpError("is for one warp to do: it belongs in an on_warp");
    if (!op.getScratch().hasOneUse()) return op->emitOpError("needs a scratch that nothing else uses");
    return success();
  }

  static bool speaks_of_groups(Operation* op) {
    if (auto copy = dyn_cast<CopyOp>(op)) return copy.getNext();
    if (auto copy = dyn_cast<CopySavedOp>(op)) return copy.getNext() || copy.getFirstFrom();
    if (auto keep = dyn_cast<KeepStateOp>(op)) return keep.getButLast();
    return false;
  }
  bool is_in_groups(Operation* op) const {
    while ((op = op->getParentOp()))
      if (auto loop = dyn_cast<SweepOp>(op); loop && loop.getOver() == Over::groups) return loop.getAhead();
    return goes_again(kernel_);
  }

  // Rings are read a chunk at a time, through `current`; staged states are copied and loaded.
  LogicalResult verify_rings(Operation* op) const {
    bool takes_ring = isa<CopyOp, CurrentOp>(op), takes_staged = isa<CopySavedOp, LoadStagedOp, StageStateOp>(op);
    for (Value operand : op->getOperands()) {
      if (!is_in_shared_memory(operand)) continue;
      bool is_ring = static_cast<bool>(operand.getDefiningOp<RingOp>());
      if (takes_ring && !is_ring) return op->emitOpError("needs a ring");
      if (!takes_ring && is_ring) return op->emitOpError("can't take a ring: take its warp.current");
      bool is_staged = static_cast<bool>(operand.getDefiningOp<StagedOp>());
      if (takes_staged && !is_staged) return op->emitOpError("needs a warp.staged state");
      if (!takes_staged && is_staged) return op->emitOpError("can't take a staged state: take what load_staged gives");
    }
    if (auto copy = dyn_cast<CopyOp>(op); copy && failed(verify_room(copy))) return failure();
    auto number = dyn_cast<StoreNumberOp>(op);
    auto scale = dyn_cast<LeaveScaleOp>(op);
    Value to = number ? number.getTo() : scale ? scale.getTo() : Value();
    if (to && llvm::any_of(to.getUsers(), [](Operation* user) { return isa<PublishMaxOp>(user); }))
      return op->emitOpError("has a place of its own, which is no maximum's");
    if (auto store = dyn_cast<StoreOp>(op); store && !store.getTile().getDefiningOp<BufferOp>())
      return op->emitOpError("stores to a warp.buffer only");
    return success();
  }

  // A ring holds so many chunks; once the current one is read, its place is free. (Those of teams: Teams.cpp.)
  LogicalResult verify_room(CopyOp copy) const {
    if (has_slots(kernel_)) return success();
    auto loop = dyn_cast<SweepOp>(copy->getParentOp());
    const bool after_current = loop && loop.getOver() != Over::groups;
    const int64_t stages = signed_value(copy.getRing().getDefiningOp<RingOp>().getStages());
    const int64_t ahead = signed_value(copy.getAhead());
    if (ahead < stages + (after_current ? 1 : 0)) return success();
    return copy.emitOpError() << "is of chunk " << ahead << " from here, into a ring of " << stages
                              << (stages == 1 ? " stage" : " stages") << ": it would overwrite one that is still read";
  }

  // What depends on how many warps there are.
  LogicalResult verify_warps(Operation* op) {
    int64_t warps = row_warps(kernel_), together = team_warps(kernel_);
    const char* whole = has_slots(kernel_) ? " of a team of " : " of a block of ";
    if (auto on = dyn_cast<OnWarpOp>(op); on && !in_range(on.getWarp(), 0, together - 1))
      return op->emitOpError("warp ") << signed_value(on.getWarp()) << whole << together;
    if (auto slabs = dyn_cast<SlabsOp>(op); slabs && slabs.getStrips())
      if (int64_t columns = signed_value(slabs.getColumns()); columns != slab_width(slabs) * together)
        return op->emitOpError() << "has strips of " << slab_width(slabs) << " columns for " << together
                                 << " warps; expected " << columns << " in all";
    if (auto ring = dyn_cast<RingOp>(op); ring && !in_range(ring.getWarp(), 0, together - 1))
      return op->emitOpError("is copied by warp ") << signed_value(ring.getWarp()) << whole << together;
    if (auto publish = dyn_cast<PublishMaxOp>(op)) return verify_slots(publish, warps);
    if (auto scale = dyn_cast<ScaleForOp>(op)) return verify_slot_counts(op, scale.getSlots(), warps);
    if (auto bound = dyn_cast<BoundOp>(op)) return verify_slot_counts(op, bound.getSlots(), warps);
    if (auto fit = dyn_cast<FitScaleOp>(op)) return verify_slot_counts(op, fit.getSlots(), warps);
    return success();
  }

  static LogicalResult verify_slot_counts(Operation* op, ValueRange all, int64_t warps) {
    for (Value slots : all)
      if (int64_t count = slot_count(slots); count != 1 && count != warps)
        return op->emitOpError() << "takes one slot, or one for each of the " << warps << " warps, not "
                                 << slots.getType();
    return success();
  }

  static int64_t slot_count(Value slots) { return cast<TileType>(slots.getType()).getDimSize(0); }

  // A tile of a ring was copied by one warp; of register tiles each warp has its own.
  LogicalResult verify_slots(PublishMaxOp op, int64_t warps) {
    bool shared = is_in_shared_memory(op.getX());
    if (shared && !op.getX().getDefiningOp<CurrentOp>())
      return op->emitOpError("of shared tiles takes only the current one of a ring");
    if (int64_t count = slot_count(op.getSlots()); count != (shared ? 1 : warps))
      return op->emitOpError() << "has " << count << " slots; expected "
                               << (shared ? "one" : "one for each of the " + std::to_string(warps) + " warps");
    if (!shared) return success();
    Value ring = op.getX().getDefiningOp<CurrentOp>().getRing();
    if (auto before = dyn_cast_or_null<PublishMaxOp>(op->getPrevNode());
        before && channel_around(before.getSlots()) != channel_around(op.getSlots()))
      return op->emitOpError("has its slot in another channel than the maximum before it, with which it is published");
    if (!published_.insert(ring).second || !published_.insert(op.getSlots()).second)
      return op->emitOpError("a ring's maximum has a slot of its own, and is published once");
    return success();
  }

  mutable KernelOp kernel_;  // whose accessors are not const
  Tensors tensors_;
  CarriedRules carried_;
  SharedBytes shared_;
  llvm::DenseSet<Value> published_;  // rings with a maximum, and slots
};

// The roles of a kernel, in any order, have all its warps, and each goes through the chunks once.
LogicalResult verify_roles(KernelOp kernel) {
  const int64_t prepare = kernel.getSchedule().goes_ahead() ? 1 : 0, of_state = row_warps(kernel);
  for (const Work work : {Work::prepare, Work::state}) {
    const int64_t expected = work == Work::state ? 1 : prepare;
    const auto is_such = [&](RoleOp role) { return role.getWork() == work; };
    if (llvm::count_if(kernel.getBody().getOps<RoleOp>(), is_such) != expected)
      return kernel.emitOpError() << "needs exactly " << expected << " warp.role " << stringifyWork(work);
  }
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    const int64_t first = role.getWork() == Work::state ? 0 : of_state;
    const int64_t warps = role.getWork() == Work::state ? of_state : signed_value(kernel.getWarps()) - of_state;
    if (signed_value(role.getFirst()) != first || signed_value(role.getWarps()) != warps)
      return role.emitOpError() << "has " << signed_value(role.getWarps()) << " warps from "
                                << signed_value(role.getFirst()) << " on; expected " << warps << " from " << first
                                << " on";
    if (!llvm::hasSingleElement(role.getBody().getOps<SweepOp>()))
      return role.emitOpError("needs exactly one warp.sweep");
  }
  return success();
}

LogicalResult verify_registers(KernelOp kernel) {
  const int64_t blocks = kernel.getBlocks(), warps = signed_value(kernel.getWarps());
  const int64_t have = sm_90a.registers_of_thread(blocks, warps), least = least_registers(kernel);
  if (have >= least) return success();
  return kernel.emitOpError() << "leaves a thread " << have << " registers where a multiprocessor holds " << blocks
                              << " blocks of " << warps << " warps; contractions by groups take at least " << least;
}

}  // namespace

LogicalResult KernelOp::verifyRegions() {
  if (getBody().getNumArguments()) return emitOpError("takes no arguments");
  if (failed(verify_roles(*this))) return failure();
  Structure structure(*this);
  size_t operations = 0;
  WalkResult result = walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (op == getOperation()) return WalkResult::advance();
    if (++operations > kMaxOperations)
      return emitOpError() << "has more than " << kMaxOperations << " operations", WalkResult::interrupt();
    return failed(structure.verify(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(structure.verify_shared_bytes()) || failed(verify_registers(*this)) ||
      failed(verify_places(*this)))
    return failure();
  if (has_phases(*this)) return success();
  if (!open_channel(*this) && failed(verify_races(*this))) return failure();
  return verify_lifetimes(*this);
}

}  // namespace wkvc::warp
