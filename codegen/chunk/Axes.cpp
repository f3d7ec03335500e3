#include "codegen/chunk/Axes.h"

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

Axis axis_of(llvm::StringRef dim) {
  if (dim == "T") return Axis::token;
  if (dim == "K") return Axis::key;
  if (dim == "V") return Axis::value;
  return Axis::one;
}

Axis axis_of(char dim) { return axis_of(llvm::StringRef(&dim, 1)); }

char letter_of(Axis axis) {
  return axis == Axis::token ? 'T' : axis == Axis::key ? 'K' : axis == Axis::value ? 'V' : '1';
}

Axis joined(Operation* op, Axis x, Axis y) {
  if (x == Axis::one || x == y) return y;
  if (y == Axis::one) return x;
  user_error_at(op, "chunk program: '{}' mixes dimensions of different meaning (tokens, keys, values)",
                op->getName().getStringRef().str());
}

// Of what has a meaning for some matrices alone.
void expect_space(Operation* op, const Spaces& spaces) {
  Space space = op->getNumOperands() ? spaces.lookup(op->getOperand(0)) : Space{};
  llvm::StringRef name = op->getName().getStringRef();
  if (isa<chunk::TrilOp, chunk::UnitLowerInverseOp, chunk::DiagonalOp, chunk::LevelPairsOp>(op) &&
      space != Space{Axis::token, Axis::token})
    user_error_at(op, "chunk program: '{}' takes a matrix of tokens by tokens", name.str());
  if (auto output = dyn_cast<chunk::OutputOp>(op); output && output.getKept() != (space.columns == Axis::token))
    user_error_at(
        op, "chunk program: '{}' is {} output of {}: what is kept is a matrix of tokens by tokens, and nothing else is",
        output.getSym().str(), output.getKept() ? "a kept" : "an", dims_of(space));
  if (isa<chunk::CumsumOp>(op) && (space.rows != Axis::token || space.columns == Axis::value))
    user_error_at(op, "chunk program: '{}' takes tokens by keys, tokens by tokens or one number a token", name.str());
  if (isa<chunk::RowOp>(op) && space == Space{Axis::token, Axis::one}) return;
  if (isa<chunk::RowOp, chunk::LastOfOtherHalfOp, chunk::SumOfOtherHalfOp, chunk::SelectHalvesOp, chunk::UpperRowsOp,
          chunk::LowerRowsOp>(op) &&
      space != Space{Axis::token, Axis::key})
    user_error_at(op, "chunk program: '{}' takes a matrix of tokens by keys", name.str());
}

Space space_of(Operation* op, const Spaces& spaces) {
  expect_space(op, spaces);
  auto of = [&](Value v) { return spaces.lookup(v); };
  if (auto input = dyn_cast<chunk::InputOp>(op)) return {Axis::token, axis_of(input.getDim())};
  if (auto parameter = dyn_cast<chunk::ParameterOp>(op)) return {Axis::one, axis_of(parameter.getDim())};
  if (isa<chunk::StateOp, chunk::SavedStateOp>(op)) return {Axis::value, Axis::key};
  if (auto constant = dyn_cast<chunk::ConstantOp>(op)) {
    if (!constant.getDims()) return {};
    return {axis_of(constant.getDims()->front()), axis_of(constant.getDims()->back())};
  }
  if (auto at = dyn_cast<chunk::AtRowOp>(op)) return {Axis::token, of(at.getX()).columns};
  if (auto sum = dyn_cast<chunk::SumRowsOp>(op)) return {Axis::one, of(sum.getX()).columns};
  if (auto sum = dyn_cast<chunk::SumColumnsOp>(op)) return {of(sum.getX()).rows, Axis::one};
  if (auto diagonal = dyn_cast<chunk::DiagonalOp>(op)) return {of(diagonal.getX()).rows, Axis::one};
  if (isa<chunk::DiagonalDotOp>(op)) return {Axis::token, Axis::token};
  if (auto dots = dyn_cast<chunk::ColumnDotsOp>(op)) return {Axis::one, of(dots.getX()).columns};
  if (auto row = dyn_cast<chunk::RowOp>(op)) return {Axis::one, of(row.getX()).columns};
  if (auto dot = dyn_cast<chunk::DotOp>(op)) {
    Space x = of(dot.getX()), y = of(dot.getY());
    joined(op, dot.getXDim() ? x.columns : x.rows, dot.getYDim() ? y.columns : y.rows);
    return {dot.getXDim() ? x.rows : x.columns, dot.getYDim() ? y.rows : y.columns};
  }
  Space space;
  for (Value operand : op->getOperands()) {
    space.rows = joined(op, space.rows, of(operand).rows);
    space.columns = joined(op, space.columns, of(operand).columns);
  }
  return space;
}

}  // namespace

std::string dims_of(Space space) { return {letter_of(space.rows), letter_of(space.columns)}; }

Spaces infer_spaces(chunk::ProgramOp program) {
  Spaces spaces;
  for (Operation& op : program.getBody().front()) {
    Space space = space_of(&op, spaces);
    for (Value result : op.getResults()) spaces[result] = space;
  }
  return spaces;
}

}  // namespace wkvc
