#include "codegen/passes/place/PlacedProgram.h"

namespace wkvc {

static std::vector<SumScales> sums_of(const Placement& placement, const Plan& plan) {
  if (!plan.by_teams() || placement.program().getPlain()) return {};
  return find_sum_scales(placement);
}

PlacedProgram::PlacedProgram(const Placement& placed, const Plan& plan, std::deque<SharedBuffer>& spaces,
                             int first_phase)
    : placement(placed),
      program(placed.program()),
      sums(sums_of(placed, plan)),
      numbers(placed, sums, plan.by_teams()),
      shared(placed, plan, spaces, first_phase) {}

void PlacedProgram::plan_shared(const Plan& plan, Ahead prefetch) {
  const bool is_early = prefetch == Ahead::early || prefetch == Ahead::read;
  shared.plan(is_early && !plan.goes_ahead() && !has_second_phase() ? Ahead::inputs : prefetch);
  for (const std::string& name : numbers.names()) shared.plan_number(name);
}

bool PlacedProgram::has_second_phase() const {
  return !placement.ops_of(Owner::slab, 1).empty() || !placement.ops_of(Owner::matrix, 1).empty();
}

const SumScales* PlacedProgram::find_sums(mlir::Operation* state) const {
  auto found = llvm::find_if(sums, [&](const SumScales& scales) { return scales.state == state; });
  return found == sums.end() ? nullptr : &*found;
}

bool PlacedProgram::is_product(mlir::Operation* dot) const {
  return llvm::any_of(sums, [&](const SumScales& scales) { return scales.products.contains(dot); });
}

bool PlacedProgram::is_as_is(mlir::Operation* round) const {
  return llvm::any_of(sums, [&](const SumScales& scales) { return scales.as_is.contains(round); });
}

}  // namespace wkvc
