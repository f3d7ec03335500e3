#include "codegen/passes/chunk_to_warp/body/OperandScales.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

Value OperandScales::from_maxima(chunk::RoundOp round) {
  llvm::SmallVector<Value> slots;
  llvm::SmallVector<int64_t> counts;
  for (const auto& product : chunk::products(round)) {
    counts.push_back(static_cast<int64_t>(product.size()));
    for (llvm::StringRef input : product) slots.push_back(c_.buffers.maximum(input));
  }
  auto several = counts.size() > 1 ? c_.b.getDenseI64ArrayAttr(counts) : DenseI64ArrayAttr();
  Value scale = c_.create<warp::ScaleForOp>(c_.b.getF32Type(), slots, several, round.getFactorAttr());
  set_name(scale, scale_name(round));
  return scale;
}

void OperandScales::create(bool of_states, llvm::function_ref<bool(Operation*)> readers) {
  llvm::DenseMap<std::pair<Attribute, Attribute>, Value> scales;
  for (auto round : c_.program().getBody().getOps<chunk::RoundOp>()) {
    if (!has_bound(round) || state_of_scale(round) || takes_scale_of_state(round) != of_states) continue;
    if (c_.placed.is_as_is(round)) continue;
    if (!readers(round) && !llvm::any_of(round->getUsers(), readers)) continue;
    if (scales_.contains(round.getResult())) continue;  // a number that was left
    Value& scale = scales[{*round.getBound(), round.getFactorAttr()}];
    if (!scale) scale = from_maxima(round);
    set(round, scale);
  }
}

Value OperandScales::known(Operation* round) {
  Value& scale = scales_[round->getResult(0)];
  if (scale) return scale;
  scale = c_.create<warp::ScaleOfOp>(c_.b.getF32Type(), tiles_.of(round->getResult(0)));
  set_name(scale, (name_of(round->getResult(0)) + "_scale").str());
  return scale;
}

}  // namespace wkvc
