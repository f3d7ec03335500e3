#include "codegen/lower/Axes.h"

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

Axis axis_of(llvm::StringRef dim) {
  if (dim == "K") return Axis::key;
  if (dim == "V") return Axis::value;
  return Axis::one;
}

Axis joined(Operation* op, Axis x, Axis y) {
  if (x == Axis::one || x == y) return y;
  if (y == Axis::one) return x;
  user_error("chunk program: '{}' mixes dimensions of different meaning (tokens, keys, values)",
             op->getName().getStringRef().str());
}

Space space_of(Operation* op, const Spaces& spaces) {
  auto of = [&](Value v) { return spaces.lookup(v); };
  if (auto input = dyn_cast<chunk::InputOp>(op)) return {Axis::token, axis_of(input.getDim())};
  if (auto parameter = dyn_cast<chunk::ParameterOp>(op)) return {Axis::one, axis_of(parameter.getDim())};
  if (isa<chunk::StateOp>(op)) return {Axis::value, Axis::key};
  if (isa<chunk::DiagonalDotOp, chunk::DecayedDotOp>(op)) return {Axis::token, Axis::token};
  if (auto row = dyn_cast<chunk::RowOp>(op)) return {Axis::one, of(row.getX()).columns};
  if (auto dot = dyn_cast<chunk::RowDotOp>(op))
    return {joined(op, of(dot.getX()).rows, of(dot.getY()).rows), Axis::one};
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

Spaces infer_spaces(chunk::ProgramOp program) {
  Spaces spaces;
  for (Operation& op : program.getBody().front()) {
    Space space = space_of(&op, spaces);
    for (Value result : op.getResults()) spaces[result] = space;
  }
  return spaces;
}

}  // namespace wkvc
