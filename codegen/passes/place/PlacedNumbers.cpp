#include "codegen/passes/place/PlacedNumbers.h"

#include <llvm/ADT/StringMap.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

std::string slope_name(const SumScales& sums) { return (chunk::symbol(sums.state) + "_slope").str(); }
std::string offset_name(const SumScales& sums) { return (chunk::symbol(sums.state) + "_intercept").str(); }

std::string scale_name(chunk::RoundOp round) {
  std::string name;
  int count = 0;
  for (const auto& product : chunk::products(round)) {
    for (llvm::StringRef input : product) name += input.str() + "_";
    count += static_cast<int>(product.size());
  }
  if (count > 1 && !name_of(round.getX()).empty()) name = (name_of(round.getX()) + "_").str();
  return name + "scale";
}

PlacedNumbers::PlacedNumbers(const Placement& placement, const std::vector<SumScales>& sums, bool by_teams)
    : placement_(placement), sums_(sums) {
  chunk::ProgramOp program = placement.program();
  any_ = !sums.empty() || (by_teams && program.getBackward() && !program.getPlain());
  if (!any_) return;
  name_scales();
  for (const SumScales& scales : sums) {
    names_.push_back(slope_name(scales));
    names_.push_back(offset_name(scales));
  }
}

void PlacedNumbers::name_scales() {
  llvm::DenseMap<std::tuple<Attribute, Attribute, Operation*>, std::string> names;
  llvm::StringMap<int> counts;
  for (auto round : placement_.body().getOps<chunk::RoundOp>()) {
    const bool leaves = leaves_scale(round);
    if (!leaves && !shares_scale(round)) continue;
    std::string& name = names[{round.getBoundAttr(), round.getFactorAttr(), leaves ? round.getOperation() : nullptr}];
    if (name.empty()) {
      name = scale_name(round);
      if (const int count = ++counts[name]; count > 1) name += "_" + std::to_string(count);
      names_.push_back(name);
    }
    of_scales_[round] = name;
  }
}

const std::string* PlacedNumbers::name_of_scale(Operation* round) const {
  const auto found = of_scales_.find(round);
  return found == of_scales_.end() ? nullptr : &found->second;
}

bool PlacedNumbers::leaves_scale(chunk::RoundOp round) const {
  if (placement_.of(round.getResult()).owner != Owner::rows || !placement_.is_shared(round.getResult())) return false;
  return llvm::any_of(sums_, [&](const SumScales& scales) {
    return scales.of_block && (scales.as_is.contains(round) || (scales.brought.contains(round) && has_bound(round)));
  });
}

bool PlacedNumbers::shares_scale(chunk::RoundOp round) const {
  const ValuePlace& place = placement_.of(round.getResult());
  return has_bound(round) && !state_of_scale(round) && place.phase < placement_.first_of_rows() &&
         place.last >= placement_.first_of_rows();
}

}  // namespace wkvc
