// The scales of a chunk's operands, and the numbers about them that a team leaves for those who take the state through
// its chunk.
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/ADT/StringSet.h>

#include <map>

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"
#include "codegen/passes/place/Roundings.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

Value WarpBuilder::new_scale(chunk::RoundOp round) {
  llvm::SmallVector<Value> slots;
  llvm::SmallVector<int64_t> counts;
  for (const auto& product : chunk::products(round)) {
    counts.push_back(static_cast<int64_t>(product.size()));
    for (llvm::StringRef input : product) slots.push_back(buffers_.maximum(input));
  }
  auto several = counts.size() > 1 ? b_.getDenseI64ArrayAttr(counts) : DenseI64ArrayAttr();
  Value scale = create<warp::ScaleForOp>(b_.getF32Type(), slots, several, round.getFactorAttr());
  set_name(scale, scale_name(round));
  return scale;
}

// Equal bounds share a scale.
void WarpBuilder::create_scales(bool of_states, llvm::function_ref<bool(Operation*)> readers) {
  llvm::DenseMap<std::pair<Attribute, Attribute>, Value> scales;
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    if (!has_bound(round) || state_of_scale(round) || takes_scale_of_state(round) != of_states) continue;
    if (is_as_is(round)) continue;
    if (!readers(round) && !llvm::any_of(round->getUsers(), readers)) continue;
    if (scales_.contains(round.getResult())) continue;  // a number that was left
    Value& scale = scales[{*round.getBound(), round.getFactorAttr()}];
    if (!scale) scale = new_scale(round);
    scales_[round.getResult()] = scale;
  }
}

// Of this warp's rows of a state, while the registers of the chunk's values are still free.
void WarpBuilder::create_own_scales() {
  owner_ = Owner::rows;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> scales;
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    Value state = state_of_scale(round);
    if (!state || carries_scale(state_)) continue;
    Value& scale = scales[{state, round.getFactorAttr()}];
    if (!scale) {
      scale = create<warp::OwnScaleOp>(b_.getF32Type(), tile(state), round.getFactorAttr());
      set_name(scale, (name_of(state) + "_scale").str());
    }
    scales_[round.getResult()] = scale;
  }
}

//===- Scales that sums share ------------------------------------------------------------------------------------===//

bool WarpBuilder::is_product(Operation* dot) const {
  return llvm::any_of(of_.sums, [&](const SumScales& scales) { return scales.products.contains(dot); });
}

bool WarpBuilder::is_as_is(Operation* round) const {
  return llvm::any_of(of_.sums, [&](const SumScales& scales) { return scales.as_is.contains(round); });
}

// A team's, or what it left.
Value WarpBuilder::known_scale(Operation* round) {
  Value& scale = scales_[round->getResult(0)];
  if (scale) return scale;
  scale = create<warp::ScaleOfOp>(b_.getF32Type(), shared_tile(round->getResult(0)));
  set_name(scale, (name_of(round->getResult(0)) + "_scale").str());
  return scale;
}

// One product of the bound, over the unit: a part of `slope` or `offset`.
Value WarpBuilder::fitted(const SumScales& sums, const Fit& fit, llvm::ArrayRef<std::string> product) {
  llvm::SmallVector<Value> slots, scales, under;
  double factor = fit.bound.factor / kHalfOfF16;
  for (const std::string& name : product) {
    if (name == chunk::symbol(sums.state)) continue;
    const size_t known = slots.size() + scales.size();
    if (Value slot = buffers_.maximum(name)) slots.push_back(slot);
    for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
      if (!has_own_scale(round) || own_maximum(round) != name) continue;
      scales.push_back(known_scale(round));
      factor *= kLargestOperand;
    }
    if (slots.size() + scales.size() != known + 1) internal_error("the maximum of '{}' is not known once", name);
  }
  for (auto [round, power] : fit.unit) {
    if (round == sums.state) continue;
    (power > 0 ? under : scales).append(std::abs(power), known_scale(round));
  }
  return create<warp::BoundOp>(b_.getF32Type(), slots, scales, under, llvm::APFloat(static_cast<float>(factor)));
}

void WarpBuilder::store_fits(const SumScales& sums) {
  llvm::SmallVector<Value> slope, offset;
  for (const Fit& fit : sums.fits)
    for (const auto& product : fit.bound.products)
      (llvm::is_contained(product, chunk::symbol(sums.state)) ? slope : offset).push_back(fitted(sums, fit, product));
  // So that the state's scale over another one is finite.
  llvm::SmallSetVector<Value, 4> others;
  for (auto* operands : {&sums.beside, &sums.brought})
    for (auto& [round, other] : *operands) others.insert(known_scale(other));
  for (Value other : others)
    offset.push_back(
        create<warp::BoundOp>(b_.getF32Type(), ValueRange(), other, ValueRange(), llvm::APFloat(0x1p-120f)));
  for (const auto& [parts, number] : {std::pair{slope, slope_name(sums)}, {offset, offset_name(sums)}})
    for (Value part : parts) set_name(part, number + "_part");
  create<warp::StoreNumberOp>(slope, buffers_.number(slope_name(sums)));
  create<warp::StoreNumberOp>(offset, buffers_.number(offset_name(sums)));
}

// The warp that makes matrices with scales of their own, if it is one.
std::optional<int> WarpBuilder::number_warp() {
  if (of_.sums.empty()) return 0;
  llvm::SmallSet<int, 4> makers;
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    const ValuePlace& place = placement_.of(round.getResult());
    if (has_own_scale(round) && place.owner == Owner::matrix && place.phase < placement_.first_of_rows() &&
        !is_as_is(round))
      makers.insert(place.warp);
  }
  if (makers.empty()) return 0;
  return makers.size() == 1 ? std::optional(*makers.begin()) : std::nullopt;
}

// By that warp. Where there are several, when all are there.
void WarpBuilder::store_numbers() {
  if (!of_.numbers.any()) return;
  auto warp = number_warp();
  if (!warp) create<warp::BarrierOp>();
  auto on = create<warp::OnWarpOp>(warp.value_or(0));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToEnd(&on.getBody().emplaceBlock());
  llvm::StringSet<> stored;
  for (auto round : program_.getBody().getOps<chunk::RoundOp>())
    if (of_.numbers.shares_scale(round) && stored.insert(*of_.numbers.name_of_scale(round)).second)
      create<warp::StoreNumberOp>(known_scale(round), buffers_.number(*of_.numbers.name_of_scale(round)));
  for (const SumScales& scales : of_.sums) store_fits(scales);
}

void WarpBuilder::load_numbers() {
  scales_.clear();
  auto load = [&](const std::string& name) {
    Value number = create<warp::LoadNumberOp>(b_.getF32Type(), buffers_.number(name));
    set_name(number, name);
    return number;
  };
  std::map<std::string, Value> loaded;
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    const std::string* name = of_.numbers.name_of_scale(round);
    if (!name || placement_.of(round.getResult()).phase >= phase_) continue;
    Value& scale = loaded[*name];
    if (!scale) scale = load(*name);
    scales_[round.getResult()] = scale;
  }
  if (!taken_) return;
  slope_ = load(slope_name(*taken_));
  offset_ = load(offset_name(*taken_));
}

}  // namespace wkvc
