#include "codegen/passes/place/rules/MatrixWarps.h"

#include <fmt/format.h>
#include <llvm/ADT/MapVector.h>

#include "codegen/passes/place/rules/Owners.h"

using namespace mlir;

namespace wkvc {

namespace {

// In contractions; an inverse is a chain of small ones.
int cost_of(Operation* op) { return isa<chunk::UnitLowerInverseOp>(op) ? 2 : is_contraction(op); }

std::vector<Operation*> matrices_of(const Placement& placement) {
  std::vector<Operation*> matrices;
  for (Operation& op : placement.body())
    if (placement.of(&op).owner == Owner::matrix) matrices.push_back(&op);
  return matrices;
}

}  // namespace

MatrixGroups matrix_groups(const Placement& placement, const llvm::DenseSet<Operation*>& without) {
  MatrixGroups groups;
  for (Operation* op : matrices_of(placement)) {
    groups.insert(op);
    for (Value operand : op->getOperands()) {
      Operation* made = operand.getDefiningOp();
      if (!without.contains(made) && are_of_one_warp(operand, op, placement)) groups.unionSets(op, made);
    }
  }
  return groups;
}

int matrix_warps(const Placement& placement) { return placement.division().warps; }

std::string warp_fault(int warp, const Placement& placement) {
  const int warps = matrix_warps(placement);
  if (warp >= 0 && warp < warps) return {};
  return fmt::format("has {}; expected warp = 0 to {}", warp < 0 ? "no warp" : fmt::format("warp = {}", warp),
                     warps - 1);
}

void assign_warps(Placement& placement) {
  const std::vector<Operation*> matrices = matrices_of(placement);
  const MatrixGroups groups = matrix_groups(placement);
  llvm::MapVector<Operation*, int> costs;  // by leader
  for (Operation* op : matrices) costs[groups.getLeaderValue(op)] += cost_of(op);
  auto dearest_first = costs.takeVector();
  llvm::stable_sort(dearest_first, [](auto& x, auto& y) { return x.second > y.second; });
  llvm::DenseMap<int, std::vector<int>> busy;  // warps, by phase
  llvm::DenseMap<Operation*, int> warp_of;
  for (auto& [leader, cost] : dearest_first) {
    std::vector<int>& loads = busy[placement.of(leader).phase];
    loads.resize(static_cast<size_t>(matrix_warps(placement)));
    auto least = std::min_element(loads.begin(), loads.end());
    *least += std::max(1, cost);
    warp_of[leader] = static_cast<int>(least - loads.begin());
  }
  for (Operation* op : matrices) placement.at(op).warp = warp_of.lookup(groups.getLeaderValue(op));
}

}  // namespace wkvc
