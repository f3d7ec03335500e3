#include "codegen/lower/Placement.h"

#include <llvm/ADT/EquivalenceClasses.h>

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

bool is_source(Value value) {
  return isa<chunk::InputOp, chunk::ParameterOp, chunk::ConstantOp, chunk::StateOp>(value.getDefiningOp());
}

namespace {

bool is_contraction(Operation* op) { return isa<chunk::DotOp, chunk::DiagonalDotOp, chunk::DecayedDotOp>(op); }

}  // namespace

Placement::Placement(chunk::ProgramOp program, int warps) : spaces_(infer_spaces(program)) {
  Block& body = program.getBody().front();
  assign_phases(body);
  assign_matrices(body, warps);
  find_shared(body);
}

Owner Placement::owner_of(Operation* op) const {
  if (isa<chunk::OutputOp, chunk::UpdateOp>(op)) return Owner::rows;
  if (isa<chunk::ConstantOp>(op)) return Owner::anyone;
  Space space = spaces_.lookup(op->getResult(0));
  if (space == Space{Axis::token, Axis::token}) return Owner::matrix;
  if (space.columns == Axis::key && space.rows != Axis::value) return Owner::slab;
  if (space.columns == Axis::value || space.rows == Axis::value) return Owner::rows;
  user_error("'{}': a value with one number a token ({}) can't be mapped onto warps yet; write it as a vector",
             op->getParentOfType<chunk::ProgramOp>().getRecurrence().str(), op->getName().getStringRef().str());
}

bool Placement::crosses(Value operand, Operation* user) const {
  if (is_source(operand)) return false;
  Owner from = of(operand).owner, to = ops_.lookup(user).owner;
  if (from != to) return true;
  return from == Owner::matrix && is_contraction(user);
}

void Placement::assign_phases(Block& body) {
  for (Operation& op : body) {
    Place place;
    place.owner = owner_of(&op);
    ops_[&op].owner = place.owner;
    for (Value operand : op.getOperands())
      if (!is_source(operand)) place.phase = std::max(place.phase, of(operand).phase + crosses(operand, &op));
    place.last_phase = place.phase;
    place.transposed = op.getNumResults() && spaces_.lookup(op.getResult(0)).columns == Axis::value;
    ops_[&op] = place;
    for (Value result : op.getResults()) places_[result] = place;
    phases_ = std::max(phases_, place.phase + 1);
  }
}

void Placement::assign_matrices(Block& body, int warps) {
  llvm::EquivalenceClasses<Operation*> groups;
  std::vector<Operation*> matrices;
  for (Operation& op : body) {
    if (op.getNumResults() == 0 || of(&op).owner != Owner::matrix) continue;
    matrices.push_back(&op);
    groups.insert(&op);
    for (Value operand : op.getOperands())
      if (of(operand).owner == Owner::matrix && !crosses(operand, &op)) groups.unionSets(&op, operand.getDefiningOp());
  }
  llvm::DenseMap<Operation*, int> numbers;
  for (Operation* op : matrices) {
    auto [it, fresh] = numbers.try_emplace(groups.getLeaderValue(op), static_cast<int>(numbers.size()) % warps);
    ops_[op].warp = places_[op->getResult(0)].warp = it->second;
  }
}

void Placement::find_shared(Block& body) {
  for (Operation& op : body) {
    const Place& user = of(&op);
    for (Value operand : op.getOperands()) {
      Place& place = places_[operand];
      place.last_phase = std::max(place.last_phase, user.phase);
      if (is_source(operand)) continue;
      // Registers of slab loops and of one warp's matrices end with their phase; those of value rows stay.
      bool outlived = place.owner != Owner::rows && place.phase != user.phase;
      place.shared |= crosses(operand, &op) || outlived;
    }
  }
}

}  // namespace wkvc
