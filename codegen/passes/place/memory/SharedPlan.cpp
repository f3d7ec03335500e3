#include "codegen/passes/place/memory/SharedPlan.h"

#include "codegen/chunk/Names.h"
#include "codegen/passes/place/Roundings.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

const PlannedBuffer* SharedPlan::find(Value value) const {
  auto it = values_.find(value);
  return it == values_.end() ? nullptr : &it->second;
}

void SharedPlan::plan(Ahead prefetch) {
  rings_.plan(prefetch);
  plan_maxima();
  plan_sums();
  plan_values();
  plan_scratch();
}

// Written before the barrier that begins a chunk, read after it, so it outlives the last phase.
void SharedPlan::plan_maximum(llvm::StringRef name) {
  PlannedBuffer& maximum = maxima_[name.str()];
  if (maximum.space) return;
  const int64_t slots = rings_.has(name) ? 1 : spaces_.plan.row_warps;  // one warp copied all of an input
  maximum = spaces_.reserve_floats(name.str() + "_max", slots, 0, placement().phases());
}

void SharedPlan::plan_maxima() {
  for (auto round : spaces_.program().getBody().getOps<chunk::RoundOp>()) {
    if (state_of_scale(round)) continue;
    for (const auto& product : chunk::products(round))
      for (llvm::StringRef name : product) plan_maximum(name);
  }
}

// Running sums live as long as the kernel.
void SharedPlan::plan_sums() {
  for (auto sum : spaces_.program().getBody().getOps<chunk::AccumulateOp>())
    sums_[sum] =
        spaces_.reserve_floats(sum.getSym().str() + "_sum", chunk::columns(sum.getX()), 0, placement().phases());
}

void SharedPlan::keep_copies_until(int phase) {
  auto keep = [&](SharedBuffer* space) { space->from = 0, space->to = phase; };
  for (auto& [value, ring] : rings()) keep(ring.space);
  if (staged_.space) keep(staged_.space);
}

void SharedPlan::keep_sums_until(int phase) {
  for (auto& [op, buffer] : sums_) buffer.space->to = phase;
}

void SharedPlan::plan_values() {
  for (Operation& op : spaces_.program().getBody().front())
    if (op.getNumResults() && placement().is_shared(op.getResult(0))) values_[op.getResult(0)] = planned(&op);
}

void SharedPlan::plan_number(const std::string& name) {
  PlannedBuffer& number = numbers_[name];
  if (!number.space) number = spaces_.reserve_floats(name + "_number", 1, 0, placement().phases());
}

void SharedPlan::plan_scratch() {
  for (auto inverse : spaces_.program().getBody().getOps<chunk::UnitLowerInverseOp>()) {
    const int phase = placement().of(inverse.getResult()).phase;
    scratch_[inverse] = spaces_.reserve_floats("scratch", warp::kInverseFloats, phase, phase);
  }
}

PlannedBuffer SharedPlan::planned(Operation* op) {
  Value value = op->getResult(0);
  const ValuePlace& place = placement().of(value);
  const int64_t r = chunk::rows(value), c = chunk::columns(value);
  std::string name = derived_name_of(value);
  if (name.empty()) name = "x";
  PlannedBuffer buffer;
  if (r == 1 || c == 1) {
    const bool partial = is_partial_sum(op, placement());
    const int64_t parts = !partial                     ? 1
                          : place.owner == Owner::rows ? spaces_.plan.row_warps
                                                       : slab_count(op, placement());
    buffer = spaces_.reserve_floats(name, parts * r * c, place.phase, place.last);
  } else {
    buffer.type = shared_type(r, c, chunk::element(value));
    buffer.space = spaces_.reserve(name, warp::shared_bytes(buffer.type), place.phase, place.last);
  }
  if (auto round = dyn_cast<chunk::RoundOp>(op); round && has_own_scale(round)) plan_scale(round, buffer, name);
  return buffer;
}

// Beside the operand.
void SharedPlan::plan_scale(chunk::RoundOp round, PlannedBuffer& operand, const std::string& name) {
  const ValuePlace& place = placement().of(round.getResult());
  const bool of_values = place.owner == Owner::rows || slab_axis(round, placement()) == Axis::value;
  if (of_values)
    operand.slabs = placement().space(round.getResult()).rows == Axis::value ? warp::Slabs::rows : warp::Slabs::columns;
  const int64_t scales = !operand.slabs ? 1 : spaces_.plan.row_warps;
  operand.scale = spaces_.reserve(name + "_scale", scales * sizeof(float), place.phase, place.last);
}

void SharedPlan::stage_state(const std::string& name, Type saved) {
  staged_.type = shared_type(extent_of(Axis::value, placement()), extent_of(Axis::key, placement()), saved);
  const int64_t bytes = staged_.type.getNumElements() * staged_.type.getElementTypeBitWidth() / 8;  // rows not padded
  staged_.space = spaces_.reserve(name, bytes, 0, placement().phases());
}

}  // namespace wkvc
