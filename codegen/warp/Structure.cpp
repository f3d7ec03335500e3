// What a kernel holds as a whole: tiles that templates/ has, tensors of the right role, shared buffers that keep out of
// each other's bytes, and barriers that all warps reach.
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>

#include <limits>
#include <vector>

#include "codegen/rec/Limits.h"
#include "codegen/rec/Names.h"
#include "codegen/warp/Warp.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

constexpr int64_t kMaxTile = 256;  // rows or columns

int64_t signed_value(uint64_t attribute) { return static_cast<int64_t>(attribute); }
constexpr const char* maps_text = "full or diagonal";
bool is_map(llvm::StringRef kind) { return kind == "full" || kind == "diagonal"; }

// Of tensors that are no recurrence's own.
bool is_own_name(llvm::StringRef name) {
  return name == "initial_state" || name == "segment_states" || name == "segment_gradients";
}

bool in_range(uint64_t attribute, int64_t lo, int64_t hi) {
  return signed_value(attribute) >= lo && signed_value(attribute) <= hi;
}

//===- Types -----------------------------------------------------------------------------------------------------===//

bool is_tile_size(int64_t size) { return size == 1 || (size > 0 && size <= kMaxTile && size % 16 == 0); }

bool is_tile(VectorType type) { return !type.isScalable() && llvm::all_of(type.getShape(), is_tile_size); }

bool is_shared(MemRefType type) {
  auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
  if (!space || space.getValue() != kSharedSpace || !type.getLayout().isIdentity()) return false;
  if (type.getRank() == 1) return type.getDimSize(0) > 0 && type.getDimSize(0) <= kMaxTile * rec::max_warps;
  return llvm::all_of(type.getShape(), [](int64_t size) { return size != 1 && is_tile_size(size); });
}

LogicalResult verify_type(Operation* op, Type type) {
  if (auto tile = dyn_cast<VectorType>(type); tile && !is_tile(tile))
    return op->emitOpError() << "has the type " << type << "; sizes of tiles are 1 or multiples of 16 up to "
                             << kMaxTile;
  if (auto shared = dyn_cast<MemRefType>(type); shared && !is_shared(shared))
    return op->emitOpError() << "has the type " << type << "; shared tiles are contiguous, in memory space "
                             << kSharedSpace << ", their sizes multiples of 16 up to " << kMaxTile;
  return success();
}

//===- Shared memory ---------------------------------------------------------------------------------------------===//

// Bytes of shared memory and the phases they are in use.
struct Span {
  Operation* op;
  int64_t begin, end;
  int64_t from = 0, to = std::numeric_limits<int64_t>::max();

  bool overlaps(const Span& other) const {
    return begin < other.end && other.begin < end && from <= other.to && other.from <= to;
  }
};

template <class Op>
Span span_of(Op op, int64_t offset, int64_t bytes) {
  return {op, offset, offset + bytes, signed_value(op.getFrom()), signed_value(op.getTo())};
}

void collect_spans(Operation* op, std::vector<Span>& spans) {
  auto bytes = [](Value value) { return shared_bytes(cast<MemRefType>(value.getType())); };
  if (auto ring = dyn_cast<RingOp>(op)) {
    int64_t offset = signed_value(ring.getOffset());
    Span span{op, offset, offset + shared_bytes(ring)};
    if (ring.getFrom()) span.from = signed_value(*ring.getFrom());
    if (ring.getTo()) span.to = signed_value(*ring.getTo());
    spans.push_back(span);
  }
  if (auto floats = dyn_cast<FloatsOp>(op))
    spans.push_back(span_of(floats, signed_value(floats.getOffset()), bytes(floats.getResult())));
  if (auto staged = dyn_cast<StagedOp>(op))
    spans.push_back(span_of(staged, signed_value(staged.getOffset()), shared_bytes(staged)));
  if (auto buffer = dyn_cast<BufferOp>(op)) {
    spans.push_back(span_of(buffer, signed_value(buffer.getOffset()), bytes(buffer.getResult())));
    if (buffer.getScale()) spans.push_back(span_of(buffer, signed_value(*buffer.getScale()), scale_bytes(buffer)));
  }
}

// `of_team` bytes come first, which nothing shares with a slot.
LogicalResult verify_span(const Span& span, int64_t shared, int64_t of_team) {
  if (span.begin < of_team && span.end > of_team)
    return span.op->emitOpError("bytes ") << span.begin << " to " << span.end << ": the first " << of_team
                                          << " are a team's, those behind them a round's";
  if (span.begin >= 0 && span.begin % 16 == 0 && span.end <= shared) return success();
  return span.op->emitOpError("bytes ") << span.begin << " to " << span.end << " of " << shared
                                        << ": offsets are multiples of 16 inside the kernel's shared memory";
}

LogicalResult verify_apart(const std::vector<Span>& spans) {
  for (size_t i = 0; i < spans.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (spans[i].overlaps(spans[j]))
        return spans[i].op->emitOpError("bytes ")
               << spans[i].begin << " to " << spans[i].end << " overlap bytes " << spans[j].begin << " to "
               << spans[j].end << " of another buffer that is in use in the same phase";
  return success();
}

//===- Operations in their places --------------------------------------------------------------------------------===//

class Structure {
 public:
  explicit Structure(KernelOp kernel) : kernel_(kernel) {
    for (auto text : kernel.getTensors().getAsValueRange<StringAttr>()) {
      auto [role, rest] = text.split(' ');
      auto [name, type] = rest.split(' ');
      roles_[name] = role;
      dtypes_[name] = type.split(' ').first;
      dims_[name] = type.split(' ').second;
    }
  }

  LogicalResult verify(Operation* op) {
    if (!isa_and_nonnull<WarpDialect>(op->getDialect())) return op->emitOpError("does not belong in a warp.kernel");
    if (isa<KernelOp, BatchSumOp, CombineOp>(op)) return op->emitOpError("can't be inside a warp.kernel");
    if (failed(verify_types(op)) || failed(verify_place(op)) || failed(verify_rings(op))) return failure();
    if (failed(verify_tensor(op)) || failed(verify_warps(op)) || failed(verify_extents(op))) return failure();
    if (failed(verify_sums(op)) || failed(verify_decaying(op))) return failure();
    collect_spans(op, spans_);
    return success();
  }

  LogicalResult verify_spans() {
    for (const Span& span : spans_)
      if (failed(verify_span(span, signed_value(kernel_.getOfTeam()) + slot_bytes(kernel_),
                             signed_value(kernel_.getOfTeam()))))
        return failure();
    return verify_apart(spans_);
  }

 private:
  static LogicalResult verify_types(Operation* op) {
    for (Value result : op->getResults())
      if (failed(verify_type(op, result.getType()))) return failure();
    return success();
  }

  LogicalResult verify_place(Operation* op) const {
    Operation* parent = op->getParentOp();
    auto loop = dyn_cast<LoopOp>(parent);
    bool in_groups = loop && loop.getOver() == "groups";
    bool of_group = in_groups && isa<RingOp, LoopOp>(op);
    bool of_round = loop && loop.getOver() == "rounds" && isa<LoopOp>(op);
    bool in_place = isa<KernelOp>(parent) || of_group || of_round;
    if (isa<RingOp, BufferOp, FloatsOp, StagedOp, LoopOp>(op) && !in_place)
      return op->emitOpError("belongs at the top of the kernel");
    if (speaks_of_groups(op) && !is_in_groups(op))
      return op->emitOpError("speaks of groups outside a loop over them that copies ahead");
    if (isa<StartSummaryOp>(op) && !op->getParentOfType<KernelOp>().getSummary())
      return op->emitOpError("belongs in a summary kernel");
    if (isa<CurrentOp>(op) && !op->getParentOfType<LoopOp>() && !op->getParentOfType<PrepareOp>())
      return op->emitOpError("needs a loop around it");
    if (isa<BarrierOp>(op) && !isa<KernelOp, LoopOp, TeamOp, PrepareOp>(parent))
      return op->emitOpError("would wait for warps that do not come here: barriers belong outside slabs and on_warp");
    if (isa<LeaveScaleOp>(op) && !isa<LoopOp>(parent))
      return op->emitOpError("is for the block's first warp to do: it belongs in a loop, outside slabs and on_warp");
    if (isa<CopyOp, PublishMaxOp>(op) && !isa<KernelOp, LoopOp, TeamOp>(parent))
      return op->emitOpError("is each warp's own part: it belongs outside slabs and on_warp");
    if (is_in_strips(op)) {
      if (failed(verify_in_strips(op))) return failure();
    } else if (auto call = dyn_cast<CallOp>(op); call && call.getFunction() == "shift_rows") {
      return op->emitOpError("is of tiles in strips");
    }
    if (failed(verify_teams(op)) || failed(verify_guard(op))) return failure();
    if (auto inverse = dyn_cast<UnitLowerInverseOp>(op)) return verify_alone(inverse);
    return success();
  }

  // A kernel begins by finding out which blocks it is for, and a plain one ends with what it has found meanwhile.
  LogicalResult verify_guard(Operation* op) const {
    const bool first = isa<KernelOp>(op->getParentOp()) && !op->getPrevNode();
    const bool before_end = isa<KernelOp>(op->getParentOp()) && is_before_last_state(op);
    if (failed(expect_where<ExpectOp>(op, first && kernel_.getPlain(), "a plain kernel begins")) ||
        failed(expect_where<OnlyRefusedOp>(op, first && kernel_.getRefused(), "a refused kernel begins")) ||
        failed(expect_where<RefuseOp>(op, before_end && kernel_.getPlain(), "a plain kernel leaves its state")))
      return failure();
    return success();
  }
  // What TimesUnitOp makes of it aside.
  static bool is_before_last_state(Operation* op) {
    Operation* next = op->getNextNode();
    if (isa_and_nonnull<TimesUnitOp>(next)) next = next->getNextNode();
    return isa_and_nonnull<StoreStateOp>(next) && !isa<TimesUnitOp>(op);
  }

  // What templates/wkvc/cuda/strips.h has.
  static LogicalResult verify_in_strips(Operation* op) {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    auto vector = dyn_cast<StoreVectorOp>(op);
    auto call = dyn_cast<CallOp>(op);
    auto parameter = dyn_cast<ParameterOp>(op);
    auto round = dyn_cast<RoundOp>(op);
    bool slab = (load && load.getColumn() && !load.getTransposed()) || (store && store.getColumn()) ||
                (vector && vector.getColumn()) || (parameter && parameter.getColumn()) ||
                (round && !round.getOwn() && !round.getInScale() && !round.getAsIs()) ||
                isa<WidenOp, WidenOverOp, TimesUnitOp>(op);
    if (slab || (call && is_in_strips(call.getFunction()))) return success();
    return op->emitOpError("is nothing that tiles in strips are for");
  }

  // In a kernel of teams, what chunks have of their own is the teams' to do; else there is nothing of teams.
  LogicalResult verify_teams(Operation* op) const {
    auto loop = dyn_cast<LoopOp>(op);
    bool over_rounds = loop && (loop.getOver() == "rounds" || loop.getOver() == "round");
    if (op->getParentOfType<TeamOp>() && is_of_rows(op))
      return op->emitOpError("is of each warp's own rows, and teams have none: it is for all warps of value rows");
    if (rounds() == 1 && isa<PrepareOp, ClaimOp, PublishOp, AwaitOp, ReleaseOp>(op))
      return op->emitOpError("belongs in a kernel of 2 rounds");
    if (rounds() > 1 && (failed(verify_ahead(op)) || failed(verify_slots_by_turns(op)))) return failure();
    if (teams() == 1) {
      if (over_rounds || isa<TeamOp>(op)) return op->emitOpError("belongs in a kernel of several teams");
      return success();
    }
    if (loop && !over_rounds) return op->emitOpError("is over what a kernel of teams has none of: it goes by rounds");
    if (isa<TeamOp>(op) && !isa<KernelOp>(op->getParentOp()) && !is_over_rounds(op->getParentOp()))
      return op->emitOpError("belongs at the top of the kernel or in its loop over rounds");
    bool of_ring = isa<PublishMaxOp>(op) && isa<MemRefType>(op->getOperand(0).getType());
    if (isa<StoreSumOp>(op) && !is_of_all_slots(op))
      return op->emitOpError("sums what all slots have: it belongs outside the loop over rounds");
    bool of_chunk = of_ring || isa<OnWarpOp, CopyOp>(op) || (isa<SlabsOp>(op) && !is_of_all_slots(op));
    if (of_chunk && !op->getParentOfType<TeamOp>())
      return op->emitOpError("is a team's to do: it belongs in a warp.team");
    auto round = op->getParentOfType<LoopOp>();
    bool in_slot = op->getParentOfType<TeamOp>() || (round && round.getOver() == "round");
    if (!in_slot && !is_of_all_slots(op) && llvm::any_of(op->getOperands(), [](Value x) { return lies_in_slot(x); }))
      return op->emitOpError("uses a slot's buffers outside a warp.team and the loop over a round");
    if (auto ring = dyn_cast<RingOp>(op); ring && signed_value(ring.getStages()) != 1)
      return op->emitOpError() << "has " << signed_value(ring.getStages()) << " stages; expected 1 in each slot";
    return success();
  }

  // Of the rows of a state, or of values, that a warp has by its number in the block, or the part of all such warps.
  static bool is_of_rows(Operation* op) {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    auto output = dyn_cast<StoreOutputOp>(op);
    auto add = dyn_cast<AddVectorOp>(op);
    auto parameter = dyn_cast<ParameterOp>(op);
    auto publish = dyn_cast<PublishMaxOp>(op);
    auto part = dyn_cast<StoreVectorOp>(op);
    return isa<LoadStateOp, StoreStateOp, StartSummaryOp, LoadSavedOp, SaveStateOp, KeepStateOp, CopySavedOp,
               LoadStagedOp, StageStateOp>(op) ||
           (load && (load.getOwn() || load.getOwnRows())) || (store && (store.getOwnRows() || store.getOwnColumns())) ||
           (output && !output.getColumn()) || (add && !add.getColumn()) || (parameter && !parameter.getColumn()) ||
           (publish && isa<VectorType>(publish.getX().getType())) || (part && part.getPart() && !part.getColumn());
  }

  static bool is_over_rounds(Operation* op) {
    auto loop = dyn_cast<LoopOp>(op);
    return isa<PrepareOp>(op) || (loop && loop.getOver() == "rounds");
  }

  // Where teams go ahead no barrier is of all warps, and theirs end early.
  LogicalResult verify_ahead(Operation* op) const {
    Operation* parent = op->getParentOp();
    if (isa<PrepareOp>(op) && !isa<KernelOp>(parent)) return op->emitOpError("belongs at the top of the kernel");
    if (isa<TeamOp>(op) && isa<LoopOp>(parent)) return op->emitOpError("has ended: its part is in warp.prepare");
    if (isa<PrepareOp>(parent) && !isa<TeamOp, NoteOp>(op))
      return op->emitOpError("is for others than teams to do: it belongs outside a warp.prepare");
    if (isa<BarrierOp>(op) && !isa<TeamOp>(parent))
      return op->emitOpError("would wait for warps that do not come here: with 2 rounds a barrier is a team's");
    if (failed(verify_handover(op))) return failure();
    if (!isa<KernelOp>(parent)) return success();
    auto prepare = *kernel_.getBody().getOps<PrepareOp>().begin();
    const bool early = op->isBeforeInBlock(prepare);
    if (early ? !isa<RingOp, BufferOp, FloatsOp, TeamOp, NoteOp, ExpectOp, OnlyRefusedOp>(op) : isa<TeamOp>(op))
      return op->emitOpError() << "belongs " << (early ? "after" : "before") << " warp.prepare, with which teams end";
    return success();
  }

  // That an operation is what belongs in a place, and nowhere else.
  template <class Op>
  static LogicalResult expect_where(Operation* op, bool is_place, llvm::StringRef place) {
    if (isa<Op>(op) == is_place) return success();
    if (isa<Op>(op)) return op->emitOpError("belongs where ") << place;
    return op->emitOpError("is where ") << Op::getOperationName() << " belongs: where " << place;
  }

  // Each slot is claimed, published, awaited and released once a round, around all that is done with it.
  LogicalResult verify_handover(Operation* op) const {
    auto loop = dyn_cast<LoopOp>(op->getParentOp());
    const bool of_round = loop && loop.getOver() == "round";
    const bool prepares = isa<TeamOp>(op->getParentOp()) && isa<PrepareOp>(op->getParentOp()->getParentOp());
    const bool first = !op->getPrevNode(), last = !op->getNextNode();
    const bool before_last = !last && !op->getNextNode()->getNextNode();
    if (failed(expect_where<ClaimOp>(op, prepares && first, "a team begins its part of warp.prepare")) ||
        failed(expect_where<PublishOp>(op, prepares && last, "a team ends its part of warp.prepare")) ||
        failed(expect_where<AwaitOp>(op, of_round && first, "a loop over a round begins")) ||
        failed(expect_where<ReleaseOp>(op, of_round && before_last, "a loop over a round ends")))
      return failure();
    if (auto rounds = dyn_cast<LoopOp>(op);
        rounds && rounds.getOver() == "rounds" && !llvm::hasSingleElement(rounds.getBody().getOps<LoopOp>()))
      return op->emitOpError("needs exactly one loop over a round in it, by which slots are released");
    auto prepare = dyn_cast<PrepareOp>(op);
    if (prepare && !llvm::hasSingleElement(prepare.getBody().getOps<TeamOp>()))
      return op->emitOpError("needs exactly one warp.team, whose slot is claimed and published once");
    return success();
  }

  // What teams have for all rounds and what a round's slot has are at different places, and for different warps.
  LogicalResult verify_slots_by_turns(Operation* op) const {
    if (auto buffer = dyn_cast<BufferOp>(op);
        buffer && buffer.getScale() && is_of_team(buffer.getResult()) != (*buffer.getScale() < kernel_.getOfTeam()))
      return op->emitOpError("and its scale are not both a team's, or both a round's");
    if (auto publish = dyn_cast<PublishMaxOp>(op); publish && is_of_team(publish.getSlots()))
      return op->emitOpError("is to be read by those who take the state through the round: in its slot");
    if (auto publish = dyn_cast<PublishMaxOp>(op); publish && isa<VectorType>(publish.getX().getType()))
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

  // Early rings have the first chunk before warp.prepare and the next round's in it, others this round's in it.
  LogicalResult verify_ahead_by_rounds(CopyOp copy) const {
    const bool early = copy.getRing().getDefiningOp<RingOp>().getEarly();
    const int64_t expected = early && copy->getParentOfType<PrepareOp>() ? round_chunks(kernel_) : 0;
    if (signed_value(copy.getAhead()) != expected)
      return copy.emitOpError() << "is " << copy.getAhead() << " chunks ahead; expected " << expected;
    return success();
  }

  // Sums over all chunks, one in each slot, before the rounds and after them.
  static bool is_of_all_slots(Operation* op) {
    return isa<SlabsOp, StoreVectorOp, StoreSumOp>(op) && !op->getParentOfType<LoopOp>() &&
           !op->getParentOfType<TeamOp>();
  }
  static bool lies_in_slot(Value x) { return isa_and_nonnull<BufferOp, FloatsOp, CurrentOp>(x.getDefiningOp()); }

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
  static bool is_in_groups(Operation* op) {
    while ((op = op->getParentOp()))
      if (auto loop = dyn_cast<LoopOp>(op); loop && loop.getOver() == "groups") return loop.getAhead();
    return false;
  }

  // Rings are read a chunk at a time, through `current`; staged states are copied and loaded.
  static LogicalResult verify_rings(Operation* op) {
    bool takes_ring = isa<CopyOp, CurrentOp>(op), takes_staged = isa<CopySavedOp, LoadStagedOp, StageStateOp>(op);
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType>(operand.getType())) continue;
      bool is_ring = static_cast<bool>(operand.getDefiningOp<RingOp>());
      if (takes_ring && !is_ring) return op->emitOpError("needs a ring");
      if (!takes_ring && is_ring) return op->emitOpError("can't take a ring: take its warp.current");
      bool is_staged = static_cast<bool>(operand.getDefiningOp<StagedOp>());
      if (takes_staged && !is_staged) return op->emitOpError("needs a warp.staged state");
      if (!takes_staged && is_staged) return op->emitOpError("can't take a staged state: take what load_staged gives");
    }
    auto number = dyn_cast<StoreNumberOp>(op);
    auto scale = dyn_cast<LeaveScaleOp>(op);
    Value to = number ? number.getTo() : scale ? scale.getTo() : Value();
    if (to && llvm::any_of(to.getUsers(), [](Operation* user) { return isa<PublishMaxOp>(user); }))
      return op->emitOpError("has a place of its own, which is no maximum's");
    if (auto store = dyn_cast<StoreOp>(op); store && !store.getTile().getDefiningOp<BufferOp>())
      return op->emitOpError("stores to a warp.buffer only");
    return success();
  }

  // One of these; messages name the first.
  LogicalResult expect_role(Operation* op, llvm::StringRef tensor, std::initializer_list<llvm::StringRef> roles) const {
    auto found = roles_.find(tensor);
    if (found == roles_.end()) return op->emitOpError("\"") << tensor << "\" is not among the kernel's tensors";
    if (llvm::is_contained(roles, found->second)) return success();
    return op->emitOpError("\"") << tensor << "\" is of the role " << found->second << "; expected " << *roles.begin();
  }

  LogicalResult verify_tensor(Operation* op) const {
    if (auto ring = dyn_cast<RingOp>(op))
      return expect_role(op, ring.getTensor(), {"input", "output_gradient", "kept"});
    if (auto store = dyn_cast<StoreMatrixOp>(op)) return expect_role(op, store.getTensor(), {"kept"});
    if (auto parameter = dyn_cast<ParameterOp>(op)) return expect_role(op, parameter.getTensor(), {"parameter"});
    if (auto load = dyn_cast<LoadStateOp>(op))
      return expect_role(
          op, load.getTensor(),
          {carries_segments() ? "workspace" : "initial_state", carries_segments() ? "" : "final_state_gradient"});
    if (auto store = dyn_cast<StoreStateOp>(op))
      return expect_role(
          op, store.getTensor(),
          {kernel_.getSummary() ? "workspace" : "final_state", kernel_.getSummary() ? "" : "initial_state_gradient"});
    if (auto store = dyn_cast<StoreOutputOp>(op))
      return expect_role(op, store.getTensor(), {"output", "input_gradient"});
    if (auto store = dyn_cast<StoreTokensOp>(op))
      return expect_role(op, store.getTensor(), {"output", "input_gradient"});
    if (auto load = dyn_cast<TokensOp>(op)) return expect_role(op, load.getTensor(), {"input", "output_gradient"});
    if (auto load = dyn_cast<LoadSavedOp>(op)) return expect_role(op, load.getTensor(), {"saved_states", "workspace"});
    if (auto copy = dyn_cast<CopySavedOp>(op)) {
      if (copy.getFirstFrom() && failed(expect_role(op, *copy.getFirstFrom(), {"saved_states"}))) return failure();
      if (copy.getNext()) return expect_role(op, copy.getTensor(), {"saved_states"});
      return expect_role(op, copy.getTensor(), {"saved_states", "workspace"});
    }
    if (auto keep = dyn_cast<KeepStateOp>(op)) return expect_role(op, keep.getTensor(), {"workspace"});
    if (auto save = dyn_cast<SaveStateOp>(op)) return expect_role(op, save.getTensor(), {"saved_states"});
    if (auto store = dyn_cast<StoreSumOp>(op)) return expect_role(op, store.getTensor(), {"workspace"});
    if (auto only = dyn_cast<OnlyRefusedOp>(op)) return expect_refusals(op, only.getTensor());
    if (auto refuse = dyn_cast<RefuseOp>(op)) return expect_refusals(op, refuse.getTensor());
    if (auto expect = dyn_cast<ExpectOp>(op)) return verify_samples(expect);
    return success();
  }

  LogicalResult expect_refusals(Operation* op, llvm::StringRef tensor) const {
    if (failed(expect_role(op, tensor, {"workspace"}))) return failure();
    if (dtypes_.lookup(tensor) != "f32")
      return op->emitOpError("\"") << tensor << "\" is of " << dtypes_.lookup(tensor) << "; expected f32";
    return expect_dims(op, tensor, "B,H," + std::to_string(signed_value(kernel_.getSegments())) + ",1");
  }

  LogicalResult verify_samples(ExpectOp op) const {
    if (failed(expect_refusals(op, op.getTensor()))) return failure();
    for (auto name : op.getInputs().getAsValueRange<StringAttr>())
      if (failed(expect_role(op, name, {"input"}))) return failure();
    for (auto name : op.getGradients().getAsValueRange<StringAttr>())
      if (failed(expect_role(op, name, {"output_gradient"}))) return failure();
    if (op.getGradients().empty() != !op.getUnit()) return op.emitOpError("gives a unit of the gradients that it has");
    return success();
  }

  bool carries_segments() const { return signed_value(kernel_.getSegments()) > 1; }

  int64_t key_dim() const { return signed_value(kernel_.getKeyDim()); }
  int64_t teams() const { return signed_value(kernel_.getTeams()); }
  int64_t rounds() const { return signed_value(kernel_.getRounds()); }

  LogicalResult expect_dims(Operation* op, llvm::StringRef tensor, llvm::StringRef dims) const {
    if (dims_.lookup(tensor) == dims) return success();
    return op->emitOpError("\"") << tensor << "\" has the dims " << dims_.lookup(tensor) << "; expected " << dims;
  }

  // States of segments, with the rows of a map behind each.
  LogicalResult expect_segments(Operation* op, llvm::StringRef tensor) const {
    if (roles_.lookup(tensor) != "workspace") return success();
    llvm::SmallVector<llvm::StringRef> parts;
    dims_.lookup(tensor).split(parts, ',');
    int64_t segments = 0, rows = 0, V = signed_value(kernel_.getValueDim());
    bool fits = parts.size() == 5 && parts[0] == "B" && parts[1] == "H" && parts[4] == "K" &&
                !parts[2].getAsInteger(10, segments) && !parts[3].getAsInteger(10, rows);
    if (fits && segments == signed_value(kernel_.getSegments()) && (rows == V + 16 || rows == V + key_dim()))
      return success();
    return op->emitOpError("\"") << tensor << "\" has the dims " << dims_.lookup(tensor) << "; expected B,H,"
                                 << signed_value(kernel_.getSegments()) << "," << V + key_dim() << ",K, or " << V + 16
                                 << " rows with diagonal maps";
  }

  // A tile of states: all keys of 16 rows.
  LogicalResult expect_state(Operation* op, Value tile) const {
    auto type = cast<VectorType>(tile.getType());
    if (type.getShape() == llvm::ArrayRef<int64_t>{16, key_dim()}) return success();
    return op->emitOpError() << "moves states as " << type << "; expected 16 rows of " << key_dim() << " keys";
  }

  LogicalResult expect_saved(LoadSavedOp op) const {
    std::string dtype;
    llvm::raw_string_ostream(dtype) << cast<VectorType>(op.getType()).getElementType();
    if (dtype == dtypes_.lookup(op.getTensor())) return expect_state(op, op.getResult());
    return op.emitOpError() << "loads " << dtype << "; \"" << op.getTensor() << "\" is of "
                            << dtypes_.lookup(op.getTensor());
  }

  // Of the chunk's tokens by its tokens.
  LogicalResult expect_matrix(Operation* op, llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape) const {
    int64_t C = signed_value(kernel_.getChunk());
    if (failed(expect_dims(op, tensor, "B,T,H," + std::to_string(C)))) return failure();
    if (shape == llvm::ArrayRef<int64_t>{C, C}) return success();
    return op->emitOpError() << "moves a matrix of " << shape[0] << "x" << shape[1] << "; expected " << C << "x" << C;
  }

  LogicalResult expect_own_rows(Operation* op, Value tile) const {
    auto type = cast<MemRefType>(tile.getType());
    if (type.getDimSize(0) == signed_value(kernel_.getValueDim())) return success();
    return op->emitOpError() << "takes a warp's own of " << type << "; expected " << signed_value(kernel_.getValueDim())
                             << " rows, 16 for each warp";
  }

  // What is indexed by the first column of a slab has as many columns as there are slabs of. Parts of sums are
  // numbered by it.
  LogicalResult verify_columns(Operation* op) const {
    for (Value index : op->getOperands()) {
      auto slabs =
          isa<IndexType>(index.getType()) ? dyn_cast<SlabsOp>(index.getParentBlock()->getParentOp()) : SlabsOp();
      if (!slabs) continue;
      int64_t columns = signed_value(slabs.getColumns());
      auto expect = [&](int64_t given) -> LogicalResult {
        if (given == columns) return success();
        return op->emitOpError() << "has " << given << " columns in slabs of " << columns;
      };
      if (isa<StoreOutputOp>(op)) return expect(key_dim());
      if (auto parameter = dyn_cast<ParameterOp>(op))
        return expect(dims_.lookup(parameter.getTensor()).ends_with("V") ? signed_value(kernel_.getValueDim())
                                                                         : key_dim());
      if (auto mma = dyn_cast<MmaOp>(op)) return expect(cast<MemRefType>(mma.getY().getType()).getDimSize(1));
      auto store = dyn_cast<StoreVectorOp>(op);
      auto load = dyn_cast<LoadVectorOp>(op);
      if (store && store.getPart()) continue;
      for (Value x : op->getOperands())
        if (auto type = dyn_cast<MemRefType>(x.getType()))
          if (int64_t parts = load && load.getParts() ? signed_value(*load.getParts()) : 1;
              failed(expect(type.getShape().back() / parts)))
            return failure();
    }
    return success();
  }

  // Sizes of what lies in tensors: offsets follow from them.
  LogicalResult verify_extents(Operation* op) const {
    int64_t C = signed_value(kernel_.getChunk()), V = signed_value(kernel_.getValueDim());
    if (auto ring = dyn_cast<RingOp>(op)) {
      bool keys = dims_.lookup(ring.getTensor()).ends_with(",K");
      auto type = cast<MemRefType>(ring.getType());
      if (roles_.lookup(ring.getTensor()) == "kept") return expect_matrix(op, ring.getTensor(), type.getShape());
      if (failed(expect_dims(op, ring.getTensor(), keys ? "B,T,H,K" : "B,T,H,V"))) return failure();
      if (type.getShape() != llvm::ArrayRef<int64_t>{C, keys ? key_dim() : V})
        return op->emitOpError() << "holds chunks as " << type << "; expected " << C << "x" << (keys ? key_dim() : V);
    }
    if (auto staged = dyn_cast<StagedOp>(op)) {
      auto type = cast<MemRefType>(staged.getType());
      if (type.getShape() != llvm::ArrayRef<int64_t>{V, key_dim()})
        return op->emitOpError() << "holds states as " << type << "; expected " << V << "x" << key_dim();
    }
    if (auto slabs = dyn_cast<SlabsOp>(op))
      if (int64_t columns = signed_value(slabs.getColumns()); columns != key_dim() && columns != V)
        return op->emitOpError() << "is over " << columns << " columns; expected " << key_dim() << " keys or " << V
                                 << " values";
    if (failed(verify_columns(op))) return failure();
    if (auto load = dyn_cast<LoadOp>(op); load && load.getOwnRows()) return expect_own_rows(op, load.getTile());
    if (auto store = dyn_cast<StoreOp>(op); store && store.getOwnRows()) return expect_own_rows(op, store.getTile());
    if (isa<LoadSavedOp>(op) && teams() > 1 && signed_value(kernel_.getSavedEvery()) != teams())
      return op->emitOpError() << "is of the first chunk of a round of " << teams() << "; a state is saved every "
                               << signed_value(kernel_.getSavedEvery());
    if (auto store = dyn_cast<StoreMatrixOp>(op))
      return expect_matrix(op, store.getTensor(), cast<VectorType>(store.getX().getType()).getShape());
    if (auto store = dyn_cast<StoreOutputOp>(op))
      return expect_dims(op, store.getTensor(), store.getColumn() ? "B,T,H,K" : "B,T,H,V");
    if (auto store = dyn_cast<StoreTokensOp>(op)) return expect_dims(op, store.getTensor(), "B,T,H");
    if (auto load = dyn_cast<TokensOp>(op)) return expect_dims(op, load.getTensor(), "B,T,H");
    if (auto start = dyn_cast<StartSummaryOp>(op)) return expect_state(op, start.getResult());
    if (auto load = dyn_cast<LoadStateOp>(op)) {
      if (failed(expect_segments(op, load.getTensor()))) return failure();
      return expect_state(op, load.getResult());
    }
    if (auto store = dyn_cast<StoreStateOp>(op)) {
      if (failed(expect_segments(op, store.getTensor()))) return failure();
      return expect_state(op, store.getX());
    }
    if (auto load = dyn_cast<LoadSavedOp>(op)) return expect_saved(load);
    if (auto load = dyn_cast<LoadStagedOp>(op)) return expect_state(op, load.getResult());
    if (auto stage = dyn_cast<StageStateOp>(op)) return expect_state(op, stage.getX());
    if (auto keep = dyn_cast<KeepStateOp>(op)) return expect_state(op, keep.getX());
    if (auto save = dyn_cast<SaveStateOp>(op)) return expect_state(op, save.getX());
    return success();
  }

  // Sums that carry a scale, where that is understood.
  LogicalResult verify_sums(Operation* op) {
    auto carries = [&](Value x) { return sums_.contains(x); };
    auto call = dyn_cast<CallOp>(op);
    auto round = dyn_cast<RoundOp>(op);
    auto mma = dyn_cast<MmaOp>(op);
    auto loop = dyn_cast<LoopOp>(op);
    bool by_row = call && call.getFunction() == "mul" && call.getX().size() == 2 && carries(call.getX()[0]) &&
                  cast<ShapedType>(call.getX()[1].getType()).getDimSize(0) == 1 && !carries(call.getX()[1]);
    bool on_sum = mma && carries(mma.getAcc()), over_sum = loop && carries(loop.getInit());
    bool selected = call && llvm::is_contained({"tril", "tril_strict", "level_pairs", "add"}, call.getFunction()) &&
                    llvm::all_of(call.getX(), carries);
    if (over_sum) sums_.insert(loop.getBody().getArgument(0));
    if (by_row || on_sum || over_sum || (mma && mma.getNewScale()) || selected || isa<WithScaleOp, FitScaleOp>(op))
      sums_.insert(op->getResult(0));
    if (auto fit = dyn_cast<FitScaleOp>(op); fit && !carries(fit.getX()))
      return op->emitOpError("takes a sum that carries a scale");
    bool from_sum = round && (round.getInScale() || round.getAsIs());
    bool to_another = round && (round.getScale() || round.getOwn());
    if (round && (carries(round.getX()) ? !from_sum && !to_another : from_sum))
      return op->emitOpError("takes its scale from sums that carry one, and from nothing else");
    if (mma && mma.getInScale() + mma.getSameScale() + mma.getNewScale() > 1)
      return op->emitOpError("is in one scale or another, not in several");
    bool scaled = mma && (mma.getXScale() || has_scale(mma.getX())) && (mma.getYScale() || has_scale(mma.getY()));
    if (mma && (mma.getSameScale() || mma.getNewScale()) && !scaled)
      return op->emitOpError("in the scale of its operands needs one of each");
    if (mma && (mma.getSameScale() ? !on_sum : mma.getNewScale() && on_sum))
      return op->emitOpError("in the same scale needs an accumulator that carries it, in a new one one that has none");
    bool brought = mma && isa<VectorType>(mma.getX().getType()) && has_scale(mma.getX());
    if (mma && mma.getInScale() && !(on_sum && brought))
      return op->emitOpError("in scale needs an accumulator that carries one, and x rounded with a scale");
    auto has_slabs = [](Value x) { return x.getDefiningOp<BufferOp>() && x.getDefiningOp<BufferOp>().getSlabs(); };
    if (on_sum && (has_slabs(mma.getX()) || has_slabs(mma.getY())))
      return op->emitOpError("a sum that carries a scale takes operands of one scale, not one for each slab");
    if (auto yield = dyn_cast<YieldOp>(op);
        yield && over(yield) && carries(yield.getNext()) != carries(over(yield).getBody().getArgument(0)))
      return op->emitOpError("ends with a sum that carries a scale only if the loop began with one");
    bool takes = by_row || on_sum || over_sum || selected || round ||
                 isa<YieldOp, WithoutScaleOp, RoundBesideOp, FitScaleOp, PublishMaxOp>(op);
    if (!takes && llvm::any_of(op->getOperands(), carries))
      return op->emitOpError("takes no sum that carries a scale: take what warp.without_scale gives");
    return success();
  }

  // States that are still to be multiplied by a row, where that is understood.
  LogicalResult verify_decaying(Operation* op) {
    auto decays = [&](Value x) { return decaying_.contains(x); };
    auto call = dyn_cast<CallOp>(op);
    auto loop = dyn_cast<LoopOp>(op);
    auto yield = dyn_cast<YieldOp>(op);
    const bool by_row = call && call.getFunction() == "mul" && decays(call.getX()[0]) && !decays(call.getX()[1]) &&
                        cast<ShapedType>(call.getX()[1].getType()).getDimSize(0) == 1;
    if (isa<DecayingOp>(op) || (loop && decays(loop.getInit()))) decaying_.insert(op->getResult(0));
    if (loop && decays(loop.getInit())) decaying_.insert(loop.getBody().getArgument(0));
    if (auto settled = dyn_cast<SettledOp>(op); settled && !decays(settled.getX()))
      return op->emitOpError("takes a state that is still to decay");
    if (yield && over(yield) && decays(yield.getNext()) != decays(over(yield).getBody().getArgument(0)))
      return op->emitOpError("ends with a state that is still to decay only if the loop began with one");
    if (by_row || loop || yield || isa<SettledOp>(op) || llvm::none_of(op->getOperands(), decays)) return success();
    return op->emitOpError("takes no state that is still to decay: take what warp.settled gives");
  }

  static LoopOp over(YieldOp yield) { return dyn_cast<LoopOp>(yield->getParentOp()); }

  // What depends on how many warps there are.
  LogicalResult verify_warps(Operation* op) {
    int64_t warps = row_warps(kernel_), together = team_warps(kernel_);
    const char* whole = teams() > 1 ? " of a team of " : " of a block of ";
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

  static int64_t slot_count(Value slots) { return cast<MemRefType>(slots.getType()).getDimSize(0); }

  // A tile of a ring was copied by one warp; of register tiles each warp has its own.
  LogicalResult verify_slots(PublishMaxOp op, int64_t warps) {
    bool shared = isa<MemRefType>(op.getX().getType());
    if (shared && !op.getX().getDefiningOp<CurrentOp>())
      return op->emitOpError("of shared tiles takes only the current one of a ring");
    if (int64_t count = slot_count(op.getSlots()); count != (shared ? 1 : warps))
      return op->emitOpError() << "has " << count << " slots; expected "
                               << (shared ? "one" : "one for each of the " + std::to_string(warps) + " warps");
    if (!shared) return success();
    Value ring = op.getX().getDefiningOp<CurrentOp>().getRing();
    if (!published_.insert(ring).second || !published_.insert(op.getSlots()).second)
      return op->emitOpError("a ring's maximum has a slot of its own, and is published once");
    return success();
  }

  mutable KernelOp kernel_;  // whose accessors are not const
  llvm::StringMap<llvm::StringRef> roles_, dtypes_, dims_;
  std::vector<Span> spans_;
  llvm::DenseSet<Value> sums_;       // that carry a scale
  llvm::DenseSet<Value> decaying_;   // states
  llvm::DenseSet<Value> published_;  // rings with a maximum, and slots
};

LogicalResult verify_architecture(KernelOp kernel) {
  llvm::StringRef arch = kernel.getArch();
  int major_minor = 0;
  bool known =
      arch.consume_front("sm_") && !arch.consumeInteger(10, major_minor) && major_minor >= 90 && major_minor < 1000;
  if (known && arch.size() <= 1 && llvm::all_of(arch, llvm::isAlpha)) return success();
  return kernel.emitOpError() << "arch is \"" << kernel.getArch() << "\"; expected for example sm_90a";
}

int64_t map_rows(KernelOp kernel) {
  if (!kernel.getSummary()) return 0;
  return *kernel.getSummary() == "full" ? signed_value(kernel.getKeyDim()) : 16;
}

int64_t slots(KernelOp kernel) { return round_chunks(kernel) * signed_value(kernel.getRounds()); }

LogicalResult verify_slots(KernelOp kernel, int64_t warps) {
  int64_t teams = signed_value(kernel.getTeams()), of_team = signed_value(kernel.getOfTeam());
  if (!in_range(kernel.getTeams(), 1, rec::max_teams) || warps % teams)
    return kernel.emitOpError() << "has " << teams << " teams; expected a number that divides its " << warps
                                << " warps, up to " << rec::max_teams;
  if (of_team && kernel.getRounds() == 1)
    return kernel.emitOpError() << "gives " << of_team
                                << " bytes to a team for all rounds; expected 0 where there are no 2";
  const int64_t bytes = signed_value(kernel.getSharedBytes());
  if (of_team < 0 || of_team % 16 || of_team > bytes / teams)
    return kernel.emitOpError() << "gives " << of_team << " bytes of " << bytes / teams
                                << " to a team for all rounds; expected a multiple of 16, no more than there are";
  bool even = (bytes - teams * of_team) % slots(kernel) == 0 && slot_bytes(kernel) % 16 == 0;
  if (teams > 1 && !even)
    return kernel.emitOpError() << "has " << bytes << " bytes of shared memory for " << round_chunks(kernel)
                                << " teams; expected a multiple of 16 for each"
                                << (kernel.getRounds() > 1 ? " and for each of its rounds" : "");
  return success();
}

// Teams of warps of their own, behind those of the rows.
LogicalResult verify_crew(KernelOp kernel, int64_t row_warps) {
  int64_t warps = signed_value(kernel.getWarps());
  if (kernel.getBackward() || signed_value(kernel.getTeams()) < 2)
    return kernel.emitOpError("has 2 rounds; those are of several teams, in a forward kernel");
  if (warps <= row_warps)
    return kernel.emitOpError() << "has " << warps << " warps, " << row_warps
                                << " of them for rows; expected more, of teams";
  return verify_slots(kernel, warps - row_warps);
}

// Blocks that share the rows of a head.
LogicalResult verify_cluster(KernelOp kernel, int64_t rows) {
  const int64_t cluster = signed_value(kernel.getCluster());
  if (!rec::is_cluster(cluster))
    return kernel.emitOpError() << "is of clusters of " << cluster << " blocks; expected " << rec::clusters_text;
  if (cluster > 1 && kernel.getRounds() == 1)
    return kernel.emitOpError("is of clusters of blocks, which kernels of 2 rounds are for");
  if (rows / 16 % cluster)
    return kernel.emitOpError() << "has " << rows << " rows for " << cluster << " blocks; expected 16 for each warp";
  return success();
}

LogicalResult verify_numbers(KernelOp kernel) {
  if (!in_range(kernel.getWarps(), 1, rec::max_warps))
    return kernel.emitOpError("a block has 1 to 32 warps, not ") << signed_value(kernel.getWarps());
  if (!in_range(kernel.getBlocks(), 1, 32))
    return kernel.emitOpError("a multiprocessor holds 1 to 32 blocks, not ") << signed_value(kernel.getBlocks());
  for (auto [what, extent] : {std::pair{"chunk", kernel.getChunk()}, std::pair{"key_dim", kernel.getKeyDim()},
                              std::pair{"value_dim", kernel.getValueDim()}})
    if (!rec::is_extent(signed_value(extent)))
      return kernel.emitOpError() << what << " is " << signed_value(extent) << "; expected " << rec::extents_text;
  int64_t rows = signed_value(kernel.getValueDim()) + map_rows(kernel);
  if (!in_range(kernel.getRounds(), 1, rec::max_rounds))
    return kernel.emitOpError() << "has " << signed_value(kernel.getRounds()) << " rounds; expected 1 or 2";
  const bool ahead = signed_value(kernel.getRounds()) > 1;
  if (failed(verify_cluster(kernel, rows))) return failure();
  if (kernel.getPlain() && kernel.getRefused())
    return kernel.emitOpError("is plain, and for what a plain one refuses; expected one of them");
  if (kernel.getPlain() && ahead && signed_value(kernel.getTeams()) == rec::max_teams)
    return kernel.emitOpError() << "is plain, and has " << rec::max_teams
                                << " teams beside those of the state, who need "
                                << "a barrier, too; expected fewer";
  if (kernel.getPlain() && kernel.getCluster() > 1)
    return kernel.emitOpError("is plain, and of clusters of blocks, which can't refuse together");
  if (!ahead && rows != 16 * signed_value(kernel.getWarps()))
    return kernel.emitOpError("has ") << signed_value(kernel.getWarps()) << " warps for " << rows
                                      << " rows of states and maps; expected one for each 16";
  if (int64_t segments = signed_value(kernel.getSegments()); !rec::is_segment_count(segments))
    return kernel.emitOpError() << "has " << segments << " segments; expected " << rec::segment_counts_text;
  if (kernel.getSummary() && !is_map(*kernel.getSummary()))
    return kernel.emitOpError() << "has a \"" << *kernel.getSummary() << "\" map; expected " << maps_text;
  if (!in_range(kernel.getSharedBytes(), 0, rec::max_sram))
    return kernel.emitOpError() << "takes " << signed_value(kernel.getSharedBytes())
                                << " bytes of shared memory; a block has at most " << rec::max_sram;
  return ahead ? verify_crew(kernel, rows / 16 / signed_value(kernel.getCluster()))
               : verify_slots(kernel, signed_value(kernel.getWarps()));
}

}  // namespace

int64_t row_warps(KernelOp kernel) {
  if (kernel.getRounds() == 1) return signed_value(kernel.getWarps());
  return (signed_value(kernel.getValueDim()) + map_rows(kernel)) / (16 * signed_value(kernel.getCluster()));
}

int64_t round_chunks(KernelOp kernel) { return signed_value(kernel.getTeams()) * signed_value(kernel.getCluster()); }

int64_t slot_bytes(KernelOp kernel) {
  const int64_t of_teams = signed_value(kernel.getTeams()) * signed_value(kernel.getOfTeam());
  const int64_t each = (signed_value(kernel.getSharedBytes()) - of_teams) / slots(kernel);
  return kernel.getRounds() > 1 ? each - kSlotMbarriers : each;
}

bool is_of_team(Value shared) {
  Operation* op = shared.getDefiningOp();
  if (!isa_and_nonnull<RingOp, BufferOp, FloatsOp>(op)) return false;
  return op->getAttrOfType<IntegerAttr>("offset").getInt() < signed_value(op->getParentOfType<KernelOp>().getOfTeam());
}

int64_t team_warps(KernelOp kernel) {
  int64_t behind = signed_value(kernel.getWarps()) - row_warps(kernel);
  return (kernel.getRounds() == 1 ? row_warps(kernel) : behind) / signed_value(kernel.getTeams());
}

LogicalResult CombineOp::verify() {
  for (llvm::StringRef name : {getSymName(), getOp(), getInitial(), getWorkspace()})
    if (auto fault = rec::name_fault(name); fault && !is_own_name(name)) return emitOpError() << *fault;
  if (!is_map(getMap())) return emitOpError() << "has a \"" << getMap() << "\" map; expected " << maps_text;
  if (int64_t segments = signed_value(getSegments()); segments < 2 || !rec::is_segment_count(segments))
    return emitOpError() << "combines " << segments << " segments; expected 2 to " << rec::max_segments;
  for (auto [what, extent] : {std::pair{"key_dim", getKeyDim()}, std::pair{"value_dim", getValueDim()}})
    if (!rec::is_extent(signed_value(extent)))
      return emitOpError() << what << " is " << signed_value(extent) << "; expected " << rec::extents_text;
  return success();
}

LogicalResult KernelOp::verify() {
  for (llvm::StringRef name : {getSymName(), getOp()})
    if (auto fault = rec::name_fault(name)) return emitOpError() << *fault;
  if (!rec::is_compute(getCompute()))
    return emitOpError() << "compute is \"" << getCompute() << "\"; expected " << rec::computes_text;
  if (failed(verify_architecture(*this))) return failure();
  return verify_numbers(*this);
}

LogicalResult KernelOp::verifyRegions() {
  if (getBody().getNumArguments()) return emitOpError("takes no arguments");
  auto loops = getBody().getOps<LoopOp>();
  if (!llvm::hasSingleElement(loops)) return emitOpError("needs exactly one warp.loop");
  if (getRounds() > 1 && !llvm::hasSingleElement(getBody().getOps<PrepareOp>()))
    return emitOpError("of 2 rounds needs exactly one warp.prepare");
  Structure structure(*this);
  size_t operations = 0;
  WalkResult result = walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (op == getOperation()) return WalkResult::advance();
    if (++operations > kMaxOperations)
      return emitOpError() << "has more than " << kMaxOperations << " operations", WalkResult::interrupt();
    return failed(structure.verify(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted() ? failure() : structure.verify_spans();
}

}  // namespace wkvc::warp
