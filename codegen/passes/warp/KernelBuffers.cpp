#include "codegen/passes/warp/KernelBuffers.h"

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

// Of shared memory: as many bytes as all banks have side by side.
static constexpr int64_t kLine = 128;

const KernelBuffer* KernelBuffers::find(Value value) const {
  auto it = values_.find(value);
  return it == values_.end() ? nullptr : &it->second;
}

Value KernelBuffers::maximum(llvm::StringRef name) const {
  auto it = maxima_.find(name.str());
  return it == maxima_.end() ? Value() : it->second.value;
}

Value KernelBuffers::number(const std::string& name) const {
  auto it = numbers_.find(name);
  return it == numbers_.end() ? Value() : it->second.value;
}

//===- Planning --------------------------------------------------------------------------------------------------===//

MemRefType KernelBuffers::shared_type(int64_t rows, int64_t columns, Type element) const {
  return MemRefType::get({rows, columns}, element, MemRefLayoutAttrInterface(),
                         b_.getI64IntegerAttr(warp::kSharedSpace));
}

MemRefType KernelBuffers::floats_type(int64_t count) const {
  return MemRefType::get({count}, b_.getF32Type(), MemRefLayoutAttrInterface(),
                         b_.getI64IntegerAttr(warp::kSharedSpace));
}

bool KernelBuffers::is_of_team(int last_phase) const {
  return plan_.rounds > 1 && last_phase < placement_.first_of_rows();
}

SharedBuffer* KernelBuffers::reserve(const std::string& name, std::int64_t bytes, int from, int to) {
  if (const int first = placement_.first_of_rows(); placement_.takes_both_together()) {  // two phases that are one
    if (from == first + 1) from = first;
    if (to == first) to = first + 1;
  }
  SharedBuffer& space = spaces_.emplace_back(SharedBuffer{name, bytes, first_phase_ + from, first_phase_ + to, -1});
  space.of_team = is_of_team(to);
  return &space;
}

void KernelBuffers::plan(bool early) {
  if (other_)
    take_rings();
  else
    plan_rings(early);
  plan_maxima();
  plan_sums();
  plan_values();
  plan_scratch();
}

// Whether each input is read in the first phase alone, or by value rows alone, which wait for it.
bool KernelBuffers::are_apart() const {
  return llvm::all_of(chunk::ProgramOp(program_).getBody().getOps<chunk::InputOp>(), [&](chunk::InputOp input) {
    Value value = input.getResult();
    return chunk::columns(value) == 1 || placement_.of(value).last_phase == 0 ||
           llvm::all_of(value.getUsers(), [&](Operation* user) { return placement_.of(user).owner == Owner::rows; });
  });
}

bool KernelBuffers::are_read_before_last() const {
  return llvm::all_of(chunk::ProgramOp(program_).getBody().getOps<chunk::InputOp>(), [&](chunk::InputOp input) {
    return placement_.of(input.getResult()).last_phase < placement_.phases() - 1;
  });
}

void KernelBuffers::plan_rings(bool early) {
  copies_last_ = early && placement_.holds_any() && are_read_before_last();
  early &= !copies_last_ && !goes_again_ && are_apart();
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    Value value = input.getResult();
    if (chunk::columns(value) == 1) continue;  // read from global memory
    MemRefType type = shared_type(chunk::rows(value), chunk::columns(value), chunk::element(value));
    // What only the first phase reads may be overwritten in the second, where shared memory is short: next to the
    // backward pass's other buffers. A forward pass copies further ahead instead.
    bool once = placement_.phases() > 1 && placement_.of(value).last_phase == 0;
    int stages = plan_.teams > 1 || (once && (program_.getBackward() || program_.getRecompute())) ? 1 : 2;
    bool exchanged = plan_.teams > 1 && type.getElementTypeBitWidth() == 16;
    int64_t bytes = warp::ring_bytes(type, exchanged);
    bool early_ring = early && placement_.of(value).last_phase == 0;
    auto* space = reserve(input.getSym().str() + "_ring", stages * bytes, 0,
                          plan_.teams > 1 && !early_ring ? placement_.of(value).last_phase : placement_.phases());
    space->of_team = is_of_team(placement_.of(value).last_phase);  // also where it is copied to in later phases
    // Over the end of a round, or from there on through the phases of what goes again.
    if (copies_last_)
      space->from = placement_.phases() - 1;
    else if (goes_again_)
      space->from = placement_.phases() + 1;
    if (exchanged) space->alignment = kLine;
    rings_[value].exchanged = exchanged;
    rings_[value].early = early_ring;
    rings_[value].space = space;
    rings_[value].type = type;
    rings_[value].stages = stages;
  }
  deal_rings();
}

// Of the other program, with what is known of them by now.
void KernelBuffers::take_rings() {
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    auto found = llvm::find_if(other_->rings_, [&](auto& ring) {
      return cast<chunk::InputOp>(ring.first.getDefiningOp()).getSym() == input.getSym();
    });
    if (found != other_->rings_.end()) rings_[input.getResult()] = found->second;
  }
}

bool KernelBuffers::are_read_first() const {
  return llvm::all_of(rings_, [&](auto& ring) { return placement_.of(ring.first).last_phase == 0; });
}

// Tiles of one kind are dealt round, so that no warp copies more of them than it must. The others wait for the warp
// that inverts a matrix, so it copies nothing; teams copy at other times.
void KernelBuffers::deal_rings() {
  std::vector<int> copiers;
  auto inverses = program_.getBody().getOps<chunk::UnitLowerInverseOp>();
  for (int warp = 0; warp < plan_.team_warps; ++warp)
    if (plan_.teams > 1 ||
        llvm::none_of(inverses, [&](auto inverse) { return placement_.of(inverse.getResult()).warp == warp; }))
      copiers.push_back(warp);
  if (copiers.empty()) copiers.push_back(0);
  llvm::MapVector<std::pair<Type, int>, std::vector<KernelBuffer*>> kinds;
  for (auto& [value, ring] : rings_) kinds[{ring.type, ring.stages}].push_back(&ring);
  size_t next = 0;
  for (auto& [kind, alike] : kinds)
    for (KernelBuffer* ring : alike) ring->warp = copiers[next++ % copiers.size()];
}

void KernelBuffers::plan_maximum(llvm::StringRef name) {
  KernelBuffer& maximum = maxima_[name.str()];
  if (maximum.space) return;
  bool of_input = llvm::any_of(
      rings_, [&](auto& ring) { return cast<chunk::InputOp>(ring.first.getDefiningOp()).getSym() == name; });
  // Written before the barrier that begins a chunk, read after it, so it outlives the last phase.
  maximum.type = floats_type(of_input ? 1 : plan_.row_warps);  // one warp copied all of an input
  maximum.space = reserve(name.str() + "_max", warp::shared_bytes(maximum.type), 0, placement_.phases());
}

void KernelBuffers::plan_maxima() {
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    if (state_of_scale(round)) continue;
    for (const auto& product : chunk::products(round))
      for (llvm::StringRef name : product) plan_maximum(name);
  }
}

// Running sums live as long as the kernel.
void KernelBuffers::plan_sums() {
  for (auto sum : program_.getBody().getOps<chunk::AccumulateOp>()) {
    KernelBuffer& buffer = sums_[sum];
    buffer.type = floats_type(chunk::columns(sum.getX()));
    buffer.space = reserve(sum.getSym().str() + "_sum", warp::shared_bytes(buffer.type), 0, placement_.phases());
  }
}

void KernelBuffers::keep_copies_until(int phase) {
  auto keep = [&](SharedBuffer* space) { space->from = 0, space->to = phase; };
  for (auto& [value, ring] : rings_) keep(ring.space);
  if (staged_.space) keep(staged_.space);
}

void KernelBuffers::keep_sums_until(int phase) {
  for (auto& [op, buffer] : sums_) buffer.space->to = phase;
}

void KernelBuffers::plan_values() {
  for (Operation& op : program_.getBody().front())
    if (op.getNumResults() && placement_.of(op.getResult(0)).shared) values_[op.getResult(0)] = planned(&op);
}

void KernelBuffers::plan_number(const std::string& name) {
  KernelBuffer& number = numbers_[name];
  if (number.space) return;
  number.type = floats_type(1);
  number.space = reserve(name + "_number", warp::shared_bytes(number.type), 0, placement_.phases());
}

void KernelBuffers::plan_scratch() {
  for (auto inverse : program_.getBody().getOps<chunk::UnitLowerInverseOp>()) {
    KernelBuffer& buffer = scratch_[inverse];
    int phase = placement_.of(inverse.getResult()).phase;
    buffer.type = floats_type(warp::kInverseFloats);
    buffer.space = reserve("scratch", warp::shared_bytes(buffer.type), phase, phase);
  }
}

KernelBuffer KernelBuffers::planned(Operation* op) {
  Value value = op->getResult(0);
  const Place& place = placement_.of(value);
  const Space& space = placement_.space(value);
  int64_t r = chunk::rows(value), c = chunk::columns(value);
  std::string name = derived_name_of(value);
  if (name.empty()) name = "x";
  KernelBuffer buffer;
  if (r == 1 || c == 1) {
    bool partial = is_partial_sum(op, placement_);
    int64_t parts = !partial ? 1 : place.owner == Owner::rows ? plan_.row_warps : placement_.slab_count(op);
    buffer.type = floats_type(parts * r * c);
  } else {
    buffer.type = shared_type(r, c, chunk::element(value));
  }
  buffer.space = reserve(name, warp::shared_bytes(buffer.type), place.phase, place.last_phase);
  if (auto round = dyn_cast<chunk::RoundOp>(op); round && has_own_scale(round)) {
    bool of_values = place.owner == Owner::rows || placement_.slab_axis(op) == Axis::value;
    if (of_values) buffer.slabs = space.rows == Axis::value ? "rows" : "columns";
    int64_t scales = buffer.slabs.empty() ? 1 : plan_.row_warps;
    buffer.scale = reserve(name + "_scale", scales * sizeof(float), place.phase, place.last_phase);
  }
  return buffer;
}

void KernelBuffers::stage_state(const std::string& name) {
  int64_t V = program_.getValueDim(), K = program_.getKeyDim();
  staged_.type = shared_type(V, K, saved_);
  staged_.space = reserve(name, V * K * saved_.getIntOrFloatBitWidth() / 8, 0, placement_.phases());
}

//===- Declaring -------------------------------------------------------------------------------------------------===//

void KernelBuffers::declare_floats(KernelBuffer& buffer, const std::string& name) {
  const SharedBuffer& space = *buffer.space;
  buffer.value = create<warp::FloatsOp>(buffer.type, space.offset, space.from, space.to);
  set_name(buffer.value, name);
}

void KernelBuffers::declare_tile(KernelBuffer& buffer) {
  const SharedBuffer& space = *buffer.space;
  auto scale = buffer.scale ? b_.getI64IntegerAttr(buffer.scale->offset) : IntegerAttr();
  auto slabs = buffer.slabs.empty() ? StringAttr() : b_.getStringAttr(buffer.slabs);
  buffer.value = create<warp::BufferOp>(buffer.type, b_.getI64IntegerAttr(space.offset), scale, slabs,
                                        b_.getI64IntegerAttr(space.from), b_.getI64IntegerAttr(space.to));
  set_name(buffer.value, space.name + "_shared");
}

void KernelBuffers::declare() {
  for (auto& [name, buffer] : maxima_) declare_floats(buffer, buffer.space->name);
  for (auto& [name, buffer] : numbers_) declare_floats(buffer, buffer.space->name);
  for (auto& [op, buffer] : sums_) declare_floats(buffer, buffer.space->name);
  if (staged_.space) {
    const SharedBuffer& space = *staged_.space;
    staged_.value = create<warp::StagedOp>(staged_.type, space.offset, space.from, space.to);
    set_name(staged_.value, space.name);
  }
  for (auto& [op, buffer] : scratch_) declare_floats(buffer, buffer.space->name);
  for (auto& [value, buffer] : values_) {
    if (buffer.type.getRank() == 1)
      declare_floats(buffer, buffer.space->name + "_shared");
    else
      declare_tile(buffer);
  }
}

void KernelBuffers::declare_rings(bool everywhere) {
  if (other_) return take_rings();
  for (auto& [value, ring] : rings_) {
    auto phase = [&](int number) { return everywhere ? IntegerAttr() : b_.getI64IntegerAttr(number); };
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    ring.value = create<warp::RingOp>(
        ring.type, input.getSymAttr(), b_.getI64IntegerAttr(ring.space->offset), b_.getI64IntegerAttr(ring.stages),
        b_.getI64IntegerAttr(ring.warp), program_.getBackward() ? b_.getUnitAttr() : UnitAttr(),
        ring.exchanged ? b_.getUnitAttr() : UnitAttr(), ring.early ? b_.getUnitAttr() : UnitAttr(),
        phase(ring.space->from), phase(ring.space->to));
    set_name(ring.value, ring.space->name);
  }
}

}  // namespace wkvc
