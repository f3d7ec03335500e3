// Axes of values and what they have to agree on. Types can't tell K from V when both are 64.
#include "codegen/rec/Dims.h"

#include "llvm/ADT/TypeSwitch.h"

namespace wkvc::rec {

using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

namespace {

// The operand whose axis the result has, or null.
mlir::Value same_axis(mlir::Operation* op) {
  if (llvm::isa<CastOp, AssumeOp, AddOp, SubOp, MulOp, NegOp, ExpOp, LogOp, SigmoidOp, TanhOp, SoftplusOp, ReluOp,
                SqrtOp, ReciprocalOp>(op))
    return op->getOperand(0);
  if (auto scale = llvm::dyn_cast<ScaleOp>(op)) return scale.getValue();
  return {};
}

std::string text_of(std::optional<Dim> dim) { return dim ? "dim " + stringifyDim(*dim).str() : "a matrix"; }

LogicalResult expect(mlir::Operation* op, mlir::Value value, Dim dim) {
  if (dim_of(value) == dim) return success();
  return op->emitOpError() << "takes a vector of dim " << stringifyDim(dim) << ", not " << text_of(dim_of(value));
}

LogicalResult expect_same(mlir::Operation* op) {
  const auto lhs = dim_of(op->getOperand(0)), rhs = dim_of(op->getOperand(1));
  if (lhs == rhs) return success();
  return op->emitOpError() << "mixes " << text_of(lhs) << " with " << text_of(rhs);
}

LogicalResult verify_outer(OuterOp op) {
  return success(succeeded(expect(op, op.getColumn(), Dim::V)) && succeeded(expect(op, op.getRow(), Dim::K)));
}

LogicalResult verify_operands(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, LogicalResult>(op)
      .Case<AddOp, SubOp, MulOp>([](auto binary) { return expect_same(binary); })
      .Case([](DiagMulOp mul) { return expect(mul, mul.getDiagonal(), Dim::K); })
      .Case([](DotOp dot) { return is_matrix(dot.getLhs()) ? expect(dot, dot.getRhs(), Dim::K) : expect_same(dot); })
      .Case([](OuterOp outer) { return verify_outer(outer); })
      .Case([](OutputOp output) { return expect(output, output.getValue(), output.getDim()); })
      .Default(success());
}

LogicalResult verify_shape(mlir::Value value, RecurrenceOp recurrence) {
  const auto dim = dim_of(value);
  llvm::SmallVector<std::int64_t> shape;
  if (dim)
    shape = {recurrence.extent(*dim)};
  else
    shape = {recurrence.extent(Dim::V), recurrence.extent(Dim::K)};
  if (llvm::cast<mlir::RankedTensorType>(value.getType()).getShape() == llvm::ArrayRef(shape)) return success();
  auto error = value.getDefiningOp()->emitOpError() << "has type " << value.getType() << ", but " << text_of(dim);
  error << " has " << shape[0];
  if (shape.size() == 2) error << "x" << shape[1];
  return error << " elements";
}

}  // namespace

std::optional<Dim> dim_of(mlir::Value value) {
  if (is_matrix(value)) return std::nullopt;
  while (auto operand = same_axis(value.getDefiningOp())) value = operand;
  return llvm::TypeSwitch<mlir::Operation*, Dim>(value.getDefiningOp())
      .Case<InputOp, ParameterOp, ConstantOp, BroadcastOp>([](auto op) { return op.getDim(); })
      .Case([](DotOp dot) { return is_matrix(dot.getLhs()) ? Dim::V : Dim::One; });
}

LogicalResult verify_dims(RecurrenceOp recurrence) {
  for (mlir::Operation& op : recurrence.getBody().front()) {
    for (mlir::Value result : op.getResults())
      if (failed(verify_shape(result, recurrence))) return failure();
    if (failed(verify_operands(&op))) return failure();
  }
  return success();
}

}  // namespace wkvc::rec
