#include "codegen/passes/place/memory/SharedPlan.h"

#include "codegen/chunk/Names.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

// Of shared memory: as many bytes as all banks have side by side.
static constexpr int64_t kLine = 128;

const PlannedBuffer* SharedPlan::find(Value value) const {
  auto it = values_.find(value);
  return it == values_.end() ? nullptr : &it->second;
}

static Attribute space_of(MLIRContext* context) { return Builder(context).getI64IntegerAttr(warp::kSharedSpace); }

MemRefType SharedPlan::shared_type(int64_t rows, int64_t columns, Type element) const {
  return MemRefType::get({rows, columns}, element, MemRefLayoutAttrInterface(), space_of(element.getContext()));
}

MemRefType SharedPlan::floats_type(int64_t count) const {
  MLIRContext* context = program_.getContext();
  return MemRefType::get({count}, Float32Type::get(context), MemRefLayoutAttrInterface(), space_of(context));
}

bool SharedPlan::is_of_team(int last_phase) const {
  return plan_.rounds > 1 && last_phase < placement_.first_of_rows();
}

SharedBuffer* SharedPlan::reserve(const std::string& name, std::int64_t bytes, int from, int to) {
  if (const int first = placement_.first_of_rows(); placement_.takes_both_together()) {  // two phases that are one
    if (from == first + 1) from = first;
    if (to == first) to = first + 1;
  }
  SharedBuffer& space = spaces_.emplace_back(SharedBuffer{name, bytes, first_phase_ + from, first_phase_ + to, -1});
  space.of_team = is_of_team(to);
  return &space;
}

void SharedPlan::plan(Ahead prefetch) {
  if (other_)
    take_rings();
  else
    plan_rings(prefetch);
  plan_maxima();
  plan_sums();
  plan_values();
  plan_scratch();
}

// Whether each input is read in the first phase alone, or by value rows alone, which wait for it.
bool SharedPlan::are_apart() const {
  return llvm::all_of(program_.getBody().getOps<chunk::InputOp>(), [&](chunk::InputOp input) {
    Value value = input.getResult();
    return chunk::columns(value) == 1 || placement_.of(value).last == 0 ||
           llvm::all_of(value.getUsers(), [&](Operation* user) { return placement_.of(user).owner == Owner::rows; });
  });
}

bool SharedPlan::are_read_before(int phase) const {
  return llvm::all_of(program_.getBody().getOps<chunk::InputOp>(), [&](chunk::InputOp input) {
    return chunk::columns(input.getResult()) == 1 || placement_.of(input.getResult()).last < phase;
  });
}

// Whether the last phase reads little, beside which rings have room: numbers that one warp each adds up.
bool SharedPlan::ends_with_numbers() const {
  const int last = placement_.phases() - 1;
  return last > placement_.first_after_rows() && placement_.ops_of(Owner::slab, last).empty() &&
         llvm::all_of(placement_.ops_of(Owner::matrix, last), [](Operation* op) {
           return llvm::all_of(op->getOperands(), [](Value x) { return chunk::columns(x) == 1; });
         });
}

void SharedPlan::plan_rings(Ahead prefetch) {
  const bool has_room = placement_.holds_any() || (goes_again_ && ends_with_numbers());
  const bool ahead = prefetch == Ahead::early || prefetch == Ahead::read;
  copies_last_ = ahead && has_room && are_read_before(placement_.phases() - 1);
  if (prefetch == Ahead::early && (copies_last_ || goes_again_ || !are_apart())) prefetch = Ahead::inputs;
  for (auto input : program_.getBody().getOps<chunk::InputOp>())
    if (chunk::columns(input.getResult()) > 1)  // others are read from global memory
      rings_[input.getResult()] = planned_ring(input, prefetch);
  deal_rings();
}

// Returns a ring's stages, and when they are copied to.
PlannedBuffer SharedPlan::stages_of(chunk::InputOp input, Ahead prefetch) const {
  Value value = input.getResult();
  const int last = placement_.of(value).last;
  PlannedBuffer ring;
  ring.type = shared_type(chunk::rows(value), chunk::columns(value), chunk::element(value));
  // What only the first phase reads may be overwritten in the second, where shared memory is short: next to the
  // backward pass's other buffers. A forward pass copies further ahead instead.
  const bool once = placement_.phases() > 1 && last == 0 && (program_.getBackward() || program_.getRecompute());
  const bool ahead = prefetch != Ahead::none;
  ring.stages = plan_.by_teams() || once || !ahead ? 1 : 2;
  const bool first = placement_.phases() > 1 && (ahead || are_read_first());
  if (ring.stages == 1) ring.free = first ? Free::behind_first : Free::behind_last;
  ring.exchanged = plan_.by_teams() && ring.type.getElementTypeBitWidth() == 16;
  if (prefetch == Ahead::early && last == 0) ring.copied = Copied::early;
  if (prefetch == Ahead::read && last < placement_.first_of_rows()) ring.copied = Copied::prepared;
  return ring;
}

PlannedBuffer SharedPlan::planned_ring(chunk::InputOp input, Ahead prefetch) {
  PlannedBuffer ring = stages_of(input, prefetch);
  const int last = placement_.of(input.getResult()).last;
  const bool late = ring.copied == Copied::late;
  ring.space = reserve(input.getSym().str() + "_ring", ring.stages * warp::ring_bytes(ring.type, ring.exchanged), 0,
                       (plan_.by_teams() ? late : ring.free == Free::behind_last) ? last : placement_.phases());
  ring.space->of_team = is_of_team(last);  // also where it is copied to in later phases
  // Over the end of a round, or from there on through the phases of what goes again.
  if (late && copies_last_)
    ring.space->from = placement_.phases() - 1;
  else if (goes_again_)
    ring.space->from = placement_.phases() + 1;
  if (ring.exchanged) ring.space->alignment = kLine;
  return ring;
}

// Of the other program.
void SharedPlan::take_rings() {
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    auto found = llvm::find_if(other_->rings_, [&](auto& ring) {
      return cast<chunk::InputOp>(ring.first.getDefiningOp()).getSym() == input.getSym();
    });
    if (found != other_->rings_.end()) rings_[input.getResult()] = found->second;
  }
}

bool SharedPlan::are_read_first() const { return are_read_before(1); }

// Tiles of one kind are dealt round, so that no warp copies more of them than it must. The others wait for the warp
// that inverts a matrix, so it copies nothing; teams copy at other times.
void SharedPlan::deal_rings() {
  std::vector<int> copiers;
  auto inverses = program_.getBody().getOps<chunk::UnitLowerInverseOp>();
  for (int warp = 0; warp < plan_.team_warps; ++warp)
    if (plan_.by_teams() ||
        llvm::none_of(inverses, [&](auto inverse) { return placement_.of(inverse.getResult()).warp == warp; }))
      copiers.push_back(warp);
  if (copiers.empty()) copiers.push_back(0);
  llvm::MapVector<std::pair<Type, int>, std::vector<PlannedBuffer*>> kinds;
  for (auto& [value, ring] : rings_) kinds[{ring.type, ring.stages}].push_back(&ring);
  size_t next = 0;
  for (auto& [kind, alike] : kinds)
    for (PlannedBuffer* ring : alike) ring->warp = copiers[next++ % copiers.size()];
}

void SharedPlan::plan_maximum(llvm::StringRef name) {
  PlannedBuffer& maximum = maxima_[name.str()];
  if (maximum.space) return;
  bool of_input = llvm::any_of(
      rings_, [&](auto& ring) { return cast<chunk::InputOp>(ring.first.getDefiningOp()).getSym() == name; });
  // Written before the barrier that begins a chunk, read after it, so it outlives the last phase.
  maximum.type = floats_type(of_input ? 1 : plan_.row_warps);  // one warp copied all of an input
  maximum.space = reserve(name.str() + "_max", warp::shared_bytes(maximum.type), 0, placement_.phases());
}

void SharedPlan::plan_maxima() {
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    if (state_of_scale(round)) continue;
    for (const auto& product : chunk::products(round))
      for (llvm::StringRef name : product) plan_maximum(name);
  }
}

// Running sums live as long as the kernel.
void SharedPlan::plan_sums() {
  for (auto sum : program_.getBody().getOps<chunk::AccumulateOp>()) {
    PlannedBuffer& buffer = sums_[sum];
    buffer.type = floats_type(chunk::columns(sum.getX()));
    buffer.space = reserve(sum.getSym().str() + "_sum", warp::shared_bytes(buffer.type), 0, placement_.phases());
  }
}

void SharedPlan::keep_copies_until(int phase) {
  auto keep = [&](SharedBuffer* space) { space->from = 0, space->to = phase; };
  for (auto& [value, ring] : rings_) keep(ring.space);
  if (staged_.space) keep(staged_.space);
}

void SharedPlan::keep_sums_until(int phase) {
  for (auto& [op, buffer] : sums_) buffer.space->to = phase;
}

void SharedPlan::plan_values() {
  for (Operation& op : program_.getBody().front())
    if (op.getNumResults() && placement_.is_shared(op.getResult(0))) values_[op.getResult(0)] = planned(&op);
}

void SharedPlan::plan_number(const std::string& name) {
  PlannedBuffer& number = numbers_[name];
  if (number.space) return;
  number.type = floats_type(1);
  number.space = reserve(name + "_number", warp::shared_bytes(number.type), 0, placement_.phases());
}

void SharedPlan::plan_scratch() {
  for (auto inverse : program_.getBody().getOps<chunk::UnitLowerInverseOp>()) {
    PlannedBuffer& buffer = scratch_[inverse];
    int phase = placement_.of(inverse.getResult()).phase;
    buffer.type = floats_type(warp::kInverseFloats);
    buffer.space = reserve("scratch", warp::shared_bytes(buffer.type), phase, phase);
  }
}

PlannedBuffer SharedPlan::planned(Operation* op) {
  Value value = op->getResult(0);
  const ValuePlace& place = placement_.of(value);
  const Space& space = placement_.space(value);
  int64_t r = chunk::rows(value), c = chunk::columns(value);
  std::string name = derived_name_of(value);
  if (name.empty()) name = "x";
  PlannedBuffer buffer;
  if (r == 1 || c == 1) {
    bool partial = is_partial_sum(op, placement_);
    int64_t parts = !partial ? 1 : place.owner == Owner::rows ? plan_.row_warps : placement_.slab_count(op);
    buffer.type = floats_type(parts * r * c);
  } else {
    buffer.type = shared_type(r, c, chunk::element(value));
  }
  buffer.space = reserve(name, warp::shared_bytes(buffer.type), place.phase, place.last);
  if (auto round = dyn_cast<chunk::RoundOp>(op); round && has_own_scale(round)) {
    bool of_values = place.owner == Owner::rows || placement_.slab_axis(op) == Axis::value;
    if (of_values) buffer.slabs = space.rows == Axis::value ? "rows" : "columns";
    int64_t scales = buffer.slabs.empty() ? 1 : plan_.row_warps;
    buffer.scale = reserve(name + "_scale", scales * sizeof(float), place.phase, place.last);
  }
  return buffer;
}

void SharedPlan::stage_state(const std::string& name, Type saved) {
  staged_.type = shared_type(placement_.extent(Axis::value), placement_.extent(Axis::key), saved);
  const int64_t bytes = staged_.type.getNumElements() * staged_.type.getElementTypeBitWidth() / 8;  // rows not padded
  staged_.space = reserve(name, bytes, 0, placement_.phases());
}

}  // namespace wkvc
