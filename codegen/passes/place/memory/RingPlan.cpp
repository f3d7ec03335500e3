#include "codegen/passes/place/memory/RingPlan.h"

using namespace mlir;

namespace wkvc {

// Of shared memory: as many bytes as all banks have side by side.
static constexpr int64_t kLine = 128;

// Whether each input is read in the first phase alone, or by value rows alone, which wait for it.
bool RingPlan::are_apart() const {
  return llvm::all_of(spaces_.program().getBody().getOps<chunk::InputOp>(), [&](chunk::InputOp input) {
    Value value = input.getResult();
    return chunk::columns(value) == 1 || placement_.of(value).last == 0 ||
           llvm::all_of(value.getUsers(), [&](Operation* user) { return placement_.of(user).owner == Owner::rows; });
  });
}

bool RingPlan::are_read_before(int phase) const {
  return llvm::all_of(spaces_.program().getBody().getOps<chunk::InputOp>(), [&](chunk::InputOp input) {
    return chunk::columns(input.getResult()) == 1 || placement_.of(input.getResult()).last < phase;
  });
}

// Whether the last phase reads little, beside which rings have room: numbers that one warp each adds up.
bool RingPlan::ends_with_numbers() const {
  const int last = placement_.phases() - 1;
  return last > placement_.first_after_rows() && placement_.ops_of(Owner::slab, last).empty() &&
         llvm::all_of(placement_.ops_of(Owner::matrix, last), [](Operation* op) {
           return llvm::all_of(op->getOperands(), [](Value x) { return chunk::columns(x) == 1; });
         });
}

void RingPlan::plan(Ahead prefetch) {
  if (other_)
    take();
  else
    plan_own(prefetch);
}

void RingPlan::plan_own(Ahead prefetch) {
  const bool has_room = holds_any(placement_) || (goes_again_ && ends_with_numbers());
  const bool ahead = prefetch == Ahead::early || prefetch == Ahead::read;
  copies_last_ = ahead && has_room && are_read_before(placement_.phases() - 1);
  if (prefetch == Ahead::early && (copies_last_ || goes_again_ || !are_apart())) prefetch = Ahead::inputs;
  for (auto input : spaces_.program().getBody().getOps<chunk::InputOp>())
    if (chunk::columns(input.getResult()) > 1)  // others are read from global memory
      rings_[input.getResult()] = planned(input, prefetch);
  deal();
}

// Returns a ring's stages, and when they are copied to.
PlannedBuffer RingPlan::stages_of(chunk::InputOp input, Ahead prefetch) const {
  chunk::ProgramOp program = spaces_.program();
  Value value = input.getResult();
  const int last = placement_.of(value).last;
  PlannedBuffer ring;
  ring.type = shared_type(chunk::rows(value), chunk::columns(value), chunk::element(value));
  // What only the first phase reads may be overwritten in the second, where shared memory is short: next to the
  // backward pass's other buffers. A forward pass copies further ahead instead.
  const bool once = placement_.phases() > 1 && last == 0 && (program.getBackward() || program.getRecompute());
  const bool ahead = prefetch != Ahead::none, by_teams = spaces_.plan.by_teams();
  ring.stages = by_teams || once || !ahead ? 1 : 2;
  const bool first = placement_.phases() > 1 && (ahead || are_read_first());
  if (ring.stages == 1) ring.free = first ? Free::behind_first : Free::behind_last;
  ring.exchanged = by_teams && ring.type.getElementTypeBitWidth() == 16;
  if (prefetch == Ahead::early && last == 0) ring.copied = Copied::early;
  if (prefetch == Ahead::read && last < placement_.first_of_rows()) ring.copied = Copied::prepared;
  return ring;
}

PlannedBuffer RingPlan::planned(chunk::InputOp input, Ahead prefetch) {
  PlannedBuffer ring = stages_of(input, prefetch);
  const int last = placement_.of(input.getResult()).last;
  const bool late = ring.copied == Copied::late;
  const bool is_read_late = spaces_.plan.by_teams() ? late : ring.free == Free::behind_last;
  ring.space =
      spaces_.reserve(input.getSym().str() + "_ring", ring.stages * warp::ring_bytes(ring.type, ring.exchanged), 0,
                      is_read_late ? last : placement_.phases());
  ring.space->of_team = spaces_.is_of_team(last);  // also where it is copied to in later phases
  // Over the end of a round, or from there on through the phases of what goes again.
  if (late && copies_last_)
    ring.space->from = placement_.phases() - 1;
  else if (goes_again_)
    ring.space->from = placement_.phases() + 1;
  if (ring.exchanged) ring.space->alignment = kLine;
  return ring;
}

const PlannedBuffer* RingPlan::find(llvm::StringRef input) const {
  auto found = llvm::find_if(
      rings_, [&](auto& ring) { return cast<chunk::InputOp>(ring.first.getDefiningOp()).getSym() == input; });
  return found == rings_.end() ? nullptr : &found->second;
}

// Of the other program.
void RingPlan::take() {
  for (auto input : spaces_.program().getBody().getOps<chunk::InputOp>())
    if (const PlannedBuffer* ring = other_->find(input.getSym())) rings_[input.getResult()] = *ring;
}

// The others wait for the warp that inverts a matrix, so it copies nothing; teams copy at other times.
std::vector<int> RingPlan::copiers() const {
  std::vector<int> warps;
  auto inverses = spaces_.program().getBody().getOps<chunk::UnitLowerInverseOp>();
  for (int warp = 0; warp < spaces_.plan.team_warps; ++warp)
    if (spaces_.plan.by_teams() ||
        llvm::none_of(inverses, [&](auto inverse) { return placement_.of(inverse.getResult()).warp == warp; }))
      warps.push_back(warp);
  if (warps.empty()) warps.push_back(0);
  return warps;
}

// Tiles of one kind are dealt round, so that no warp copies more of them than it must.
void RingPlan::deal() {
  const std::vector<int> warps = copiers();
  llvm::MapVector<std::pair<Type, int>, std::vector<PlannedBuffer*>> kinds;
  for (auto& [value, ring] : rings_) kinds[{ring.type, ring.stages}].push_back(&ring);
  size_t next = 0;
  for (auto& [kind, alike] : kinds)
    for (PlannedBuffer* ring : alike) ring->warp = warps[next++ % warps.size()];
}

}  // namespace wkvc
