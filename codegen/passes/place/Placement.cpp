#include "codegen/passes/place/Placement.h"

#include "codegen/passes/place/Slabs.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

bool is_source(Value value) {
  return isa<chunk::InputOp, chunk::ParameterOp, chunk::ConstantOp>(value.getDefiningOp());
}

bool is_partial_sum(Operation* op, const Placement& placement) {
  if (isa<chunk::SumColumnsOp>(op)) return placement.space(op->getOperand(0)).columns != Axis::token;
  return isa<chunk::SumRowsOp>(op) && placement.space(op->getOperand(0)).rows == Axis::value;
}

bool is_accumulator(Operation* op) {
  return isa<chunk::AddOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value x) { return x.getDefiningOp<chunk::DotOp>() && x.hasOneUse(); });
}

bool is_contraction(Operation* op) { return isa<chunk::DotOp, chunk::ColumnDotsOp, chunk::DiagonalDotOp>(op); }

bool is_elementwise(Operation* op) {
  return isa<chunk::NegOp, chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp,
             chunk::SoftplusOp, chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::AddOp, chunk::SubOp,
             chunk::MulOp, chunk::AtLeastOp, chunk::ExceedsOp, chunk::NotBelowOp, chunk::WidenOp, chunk::RoundOp,
             chunk::KeepValidOp>(op);
}

Placement::Placement(chunk::ProgramOp program, int warps) : program_(program), spaces_(infer_spaces(program)) {
  phases_.warps = warps;
  for (Operation& op : body()) places_.try_emplace(&op);
}

std::vector<Operation*> Placement::ops_of(Owner owner, int phase) const {
  std::vector<Operation*> ops;
  for (Operation& op : body()) {
    if (op.getNumResults() && is_source(op.getResult(0))) continue;
    if (of(&op).owner == owner && of(&op).phase == phase) ops.push_back(&op);
  }
  return ops;
}

bool Placement::is_shared(Value value) const { return !is_source(value) && of(value).storage != Storage::registers; }

// Registers hold two states and their operands of narrow heads alone.
bool takes_both_at_once(const Placement& placement) {
  return placement.division().together && !sm_90a.is_wide(extent_of(Axis::key, placement));
}

chunk::RoundOp stand_in(Value widened, int phase, const Placement& placement) {
  if (phase < placement.first_of_rows()) return {};
  for (Operation* user : widened.getUsers())
    if (placement.of(user).storage == Storage::stand_in) return cast<chunk::RoundOp>(user);
  return {};
}

bool is_held(Value operand, const Placement& placement) { return placement.of(operand).storage == Storage::held; }

bool holds_any(const Placement& placement) {
  return llvm::any_of(placement.body(), [&](Operation& op) { return placement.of(&op).storage == Storage::held; });
}

}  // namespace wkvc
