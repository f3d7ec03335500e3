#include "codegen/passes/chunk_to_warp/body/LeftNumbers.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/ADT/StringSet.h>

#include <map>

#include "codegen/ir/Text.h"
#include "codegen/passes/place/Roundings.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// What a product of a bound consists of, over the unit.
struct BoundParts {
  llvm::SmallVector<Value> slots, scales, under;
  double factor;
};

}  // namespace

// A factor of the product: a maximum, or the scale of the operand that has its own.
static void add_factor(const BuildContext& c, OperandScales& scales, const std::string& name, BoundParts& parts) {
  const size_t known = parts.slots.size() + parts.scales.size();
  if (Value slot = c.buffers.maximum(name)) parts.slots.push_back(slot);
  for (auto round : c.program().getBody().getOps<chunk::RoundOp>()) {
    if (!has_own_scale(round) || own_maximum(round) != name) continue;
    parts.scales.push_back(scales.known(round));
    parts.factor *= kLargestOperand;
  }
  if (parts.slots.size() + parts.scales.size() != known + 1)
    internal_error("the maximum of '{}' is not known once", name);
}

static Value bound_of_parts(const BuildContext& c, const BoundParts& parts) {
  return c.create<warp::BoundOp>(c.b.getF32Type(), parts.slots, parts.scales, parts.under,
                                 llvm::APFloat(static_cast<float>(parts.factor)));
}

// One product of the bound, over the unit: a part of the slope or the offset.
static Value fitted(const BuildContext& c, OperandScales& scales, const SumScales& sums, const Fit& fit,
                    llvm::ArrayRef<std::string> product) {
  BoundParts parts{{}, {}, {}, fit.bound.factor / kHalfOfF16};
  for (const std::string& name : product)
    if (name != chunk::symbol(sums.state)) add_factor(c, scales, name, parts);
  for (auto [round, power] : fit.unit)
    if (round != sums.state) (power > 0 ? parts.under : parts.scales).append(std::abs(power), scales.known(round));
  return bound_of_parts(c, parts);
}

// Bounds with which the state's scale over another one is finite.
static void add_least_bounds(const BuildContext& c, OperandScales& scales, const SumScales& sums,
                             llvm::SmallVector<Value>& offset) {
  llvm::SmallSetVector<Value, 4> others;
  for (auto* operands : {&sums.beside, &sums.brought})
    for (auto& [round, other] : *operands) others.insert(scales.known(other));
  for (Value other : others) offset.push_back(bound_of_parts(c, {{}, {other}, {}, 0x1p-120}));
}

static void store_parts(const BuildContext& c, const std::string& name, llvm::ArrayRef<Value> parts) {
  for (Value part : parts) set_name(part, name + "_part");
  c.create<warp::StoreNumberOp>(parts, c.buffers.number(name));
}

static void store_fits(const BuildContext& c, OperandScales& scales, const SumScales& sums) {
  llvm::SmallVector<Value> slope, offset;
  for (const Fit& fit : sums.fits)
    for (const auto& product : fit.bound.products)
      (llvm::is_contained(product, chunk::symbol(sums.state)) ? slope : offset)
          .push_back(fitted(c, scales, sums, fit, product));
  add_least_bounds(c, scales, sums, offset);
  store_parts(c, slope_name(sums), slope);
  store_parts(c, offset_name(sums), offset);
}

// The warp that makes matrices with scales of their own; the first one if there are none, or several make them.
static int number_warp(const PlacedProgram& placed) {
  if (placed.sums.empty()) return 0;
  llvm::SmallSet<int, 4> makers;
  for (auto round : chunk::ProgramOp(placed.program).getBody().getOps<chunk::RoundOp>()) {
    const ValuePlace& place = placed.placement.of(round.getResult());
    if (has_own_scale(round) && place.owner == Owner::matrix && place.phase < placed.placement.first_of_rows() &&
        !placed.is_as_is(round))
      makers.insert(place.warp);
  }
  return makers.size() == 1 ? *makers.begin() : 0;
}

void store_numbers(const BuildContext& c, OperandScales& scales) {
  const PlacedNumbers& numbers = c.placed.numbers;
  if (!numbers.any()) return;
  c.begin_phase();
  auto on = c.create<warp::OnWarpOp>(number_warp(c.placed));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToEnd(&on.getBody().emplaceBlock());
  llvm::StringSet<> stored;
  for (auto round : c.program().getBody().getOps<chunk::RoundOp>())
    if (numbers.shares_scale(round) && stored.insert(*numbers.name_of_scale(round)).second)
      c.create<warp::StoreNumberOp>(scales.known(round), c.buffers.number(*numbers.name_of_scale(round)));
  for (const SumScales& sums : c.placed.sums) store_fits(c, scales, sums);
}

static Value loaded_number(const BuildContext& c, const std::string& name) {
  Value number = c.create<warp::LoadNumberOp>(c.b.getF32Type(), c.buffers.number(name));
  set_name(number, name);
  return number;
}

void load_numbers(Environment& env) {
  const BuildContext& c = env.context;
  env.scales.clear();
  std::map<std::string, Value> loaded;
  for (auto round : c.program().getBody().getOps<chunk::RoundOp>()) {
    const std::string* name = c.placed.numbers.name_of_scale(round);
    if (!name || c.placement().of(round.getResult()).phase >= env.site.phase) continue;
    Value& scale = loaded[*name];
    if (!scale) scale = loaded_number(c, *name);
    env.scales.set(round, scale);
  }
  if (!env.state.sums) return;
  env.state.slope = loaded_number(c, slope_name(*env.state.sums));
  env.state.offset = loaded_number(c, offset_name(*env.state.sums));
}

void leave_scales(const Environment& env) {
  if (!env.state.sums) return;
  const BuildContext& c = env.context;
  const PlacedNumbers& numbers = c.placed.numbers;
  for (auto round : c.program().getBody().getOps<chunk::RoundOp>()) {
    if (!numbers.leaves_scale(round) || c.placement().of(round.getResult()).phase != env.site.phase) continue;
    Value operand = env.registers.find(round.getResult(), Owner::rows);
    c.create<warp::LeaveScaleOp>(operand, c.buffers.number(*numbers.name_of_scale(round)));
  }
}

}  // namespace wkvc
