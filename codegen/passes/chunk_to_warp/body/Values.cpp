#include "codegen/passes/chunk_to_warp/body/Values.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/body/Calls.h"
#include "codegen/passes/chunk_to_warp/body/Contractions.h"
#include "codegen/passes/chunk_to_warp/body/Elementwise.h"
#include "codegen/passes/chunk_to_warp/body/GradientUnit.h"
#include "codegen/passes/chunk_to_warp/body/Loads.h"
#include "codegen/passes/chunk_to_warp/body/RoundedOperands.h"
#include "codegen/passes/chunk_to_warp/body/Stores.h"

using namespace mlir;

namespace wkvc {

// Whether a value is computed where it is read, rather than loaded.
static bool is_made_again(const Environment& env, Value value) {
  const ValuePlace& place = env.site.placement.of(value);
  return !is_source(value) && !env.context.placed.shared.find(value) &&
         (place.owner == Owner::anyone || place.owner == env.site.owner);
}

Value tile_of(Environment& env, Value value) {
  const Owner owner = env.site.owner;
  if (Value found = env.registers.find(value, owner)) return found;
  auto round = stand_in(value, env.site.phase, env.site.placement);
  if (!round && is_made_again(env, value)) {
    compute(env, value.getDefiningOp());
    return tile_of(env, value);
  }
  Value result = round ? widened_operand(env, round.getResult()) : loaded(env, value);
  if (!round) set_name(result, name_of(value));
  env.registers.keep(value, owner, result);
  return result;
}

static Value saved_state(Environment& env) {
  return env.context.plan.by_teams() ? env.state.before : env.states.as_taken(env.states.load_saved());
}

static Value inverse(Environment& env, chunk::UnitLowerInverseOp op) {
  const BuildContext& c = env.context;
  const llvm::StringRef mode = is_causal(c) ? "f32" : op.getDtype();
  return c.create<warp::UnitLowerInverseOp>(tile_of(env, op.getX()), c.buffers.scratch(op), mode);
}

static Value diagonal_dot(Environment& env, chunk::DiagonalDotOp op) {
  return call(env, "diagonal_dot", {env.tiles.of(op.getX()), env.tiles.of(op.getY())},
              env.site.type_of(op.getResult()));
}

static Value computed(Environment& env, Operation* op) {
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](chunk::SavedStateOp) { return saved_state(env); })
      .Case([&](chunk::StateOp) { return env.state.before; })
      .Case([&](chunk::DotOp x) { return contracted(env, x, {}); })
      .Case([&](chunk::ColumnDotsOp x) { return column_dots(env, x); })
      .Case([&](chunk::RoundOp x) { return rounded_operand(env, x); })
      .Case([&](chunk::WidenOp x) { return widened_operand(env, x.getX()); })
      .Case([&](chunk::UnitLowerInverseOp x) { return inverse(env, x); })
      .Case([&](chunk::DiagonalDotOp x) { return diagonal_dot(env, x); })
      .Case([&](chunk::AddOp) { return combined(env, op, "add"); })
      .Case([&](chunk::SubOp) { return combined(env, op, "sub"); })
      .Case([&](chunk::MulOp) { return combined(env, op, "mul"); })
      .Default([&](Operation*) { return by_function(env, op); });
}

static void add_to_sum(Environment& env, chunk::AccumulateOp sum) {
  const BuildContext& c = env.context;
  Value x = times_unit(c, tile_of(env, sum.getX()));
  c.create<warp::AddVectorOp>(x, c.buffers.sum(sum), env.site.slab_column());
}

// Whether a contraction is left to the only sum that reads its result, which accumulates on the sum's other operand.
static bool is_left_to_sum(const Site& site, Operation* op) {
  return isa<chunk::DotOp>(op) && op->hasOneUse() && accumulated(site, *op->user_begin()) == op->getResult(0);
}

static void compute_value(Environment& env, Operation* op) {
  Value value = op->getResult(0), result = computed(env, op);
  if (name_of(result).empty()) set_name(result, name_of(value));
  // A part of a sum is not the sum: that is read once all parts are there.
  if (!env.site.is_partial(value)) env.registers.keep(value, env.site.owner, result);
  const Placement& placement = env.site.placement;
  if (placement.is_shared(value) && placement.of(value).phase == env.site.phase) publish_value(env, value, result);
}

void compute(Environment& env, Operation* op) {
  if (isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op))
    env.state.after = tile_of(env, op->getOperand(0));
  else if (auto sum = dyn_cast<chunk::AccumulateOp>(op))
    add_to_sum(env, sum);
  else if (!is_left_to_sum(env.site, op))
    compute_value(env, op);
}

void compute_all(Environment& env, const std::vector<Operation*>& ops) {
  std::vector<std::pair<chunk::OutputOp, Value>> outputs;
  for (Operation* op : ops) {
    if (auto output = dyn_cast<chunk::OutputOp>(op))
      outputs.emplace_back(output, Value());
    else
      compute(env, op);
  }
  for (auto& [output, x] : outputs) x = times_unit(env.context, tile_of(env, output.getX()));
  for (auto& [output, x] : outputs) store_output(env, output, x);
}

}  // namespace wkvc
