// Functions of templates/ that warp.call names: the tiles that they take, and what they make of them.
#include <llvm/ADT/StringSwitch.h>

#include <cmath>

#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

enum class Form {
  none,
  elementwise,
  square,
  row,
  at_row,
  sum,
  diagonal,
  constant,
  binary,
  shift,
  diagonal_dot,
  level,
  select_halves
};

Form form_of(llvm::StringRef function) {
  return llvm::StringSwitch<Form>(function)
      .Cases({"neg", "exp", "exp2", "log", "sigmoid", "tanh", "softplus", "relu", "sqrt", "reciprocal"},
             Form::elementwise)
      .Cases({"zero_if_nan", "widen", "widen_fitted", "keep_valid", "keep_valid_columns", "offset"}, Form::elementwise)
      .Cases({"cumsum", "reverse_cumsum", "exclusive_cumsum", "reverse_exclusive_cumsum"}, Form::elementwise)
      .Cases({"sum_rows", "sum_columns"}, Form::sum)
      .Case("diagonal_column", Form::diagonal)
      .Case("at_row", Form::at_row)
      .Cases({"tril", "tril_strict"}, Form::square)
      .Case("row", Form::row)
      .Cases({"maximum", "greater_than", "not_below", "add_constant", "mul_constant"}, Form::constant)
      .Cases({"add", "sub", "mul"}, Form::binary)
      .Case("shift_rows", Form::shift)
      .Case("diagonal_dot", Form::diagonal_dot)
      .Cases({"level_pairs", "upper_rows", "lower_rows", "last_of_other_half", "sum_of_other_half"}, Form::level)
      .Case("select_halves", Form::select_halves)
      .Default(Form::none);
}

bool of_level(Form form) { return form == Form::level || form == Form::select_halves; }
bool takes_constant(Form form) {
  return form == Form::row || form == Form::at_row || form == Form::constant || of_level(form);
}
bool takes_shared(Form form) { return form == Form::diagonal_dot; }
size_t arity(Form form) {
  return form == Form::binary || form == Form::shift || form == Form::diagonal_dot || form == Form::select_halves ? 2
                                                                                                                  : 1;
}

LogicalResult verify_operands(CallOp op, Form form) {
  if (op.getX().size() != arity(form))
    return op.emitOpError("\"") << op.getFunction() << "\" takes " << arity(form) << " tiles, not " << op.getX().size();
  for (Value x : op.getX())
    if (is_in_shared_memory(x) != takes_shared(form))
      return op.emitOpError("\"") << op.getFunction() << "\" takes tiles in "
                                  << (takes_shared(form) ? "shared memory" : "registers");
  const bool fitted = op.getFunction() == "widen_fitted", widens = fitted || op.getFunction() == "widen";
  if (fitted && !llvm::all_of(op.getX(), [](Value x) { return element_of(x).isF16(); }))
    return op.emitOpError("\"widen_fitted\" takes tiles of f16");
  if (!takes_shared(form) && !widens && !llvm::all_of(op.getX(), [](Value x) { return element_of(x).isF32(); }))
    return op.emitOpError("\"") << op.getFunction() << "\" takes tiles of f32";
  if (op.getConstant().has_value() != takes_constant(form))
    return op.emitOpError("\"") << op.getFunction() << "\" takes " << (takes_constant(form) ? "a" : "no")
                                << " constant";
  return op.getConstant() ? verify_finite(op, *op.getConstant()) : success();
}

// `matrix` has the row, `row` is it.
LogicalResult verify_row(CallOp op, Value matrix, Value row) {
  auto x = shape_of(matrix);
  double index = op.getConstant()->convertToFloat();
  if (index < 0 || index >= static_cast<double>(x[0]) || index != std::floor(index))
    return op.emitOpError("row ") << index << " of a tile with " << x[0] << " rows";
  return expect_shape(op, row, 1, x[1]);
}

// The constant is half the rows of a block.
LogicalResult verify_level(CallOp op) {
  auto x = shape_of(op.getX()[0]);
  double half = op.getConstant()->convertToFloat();
  int exponent = 0;
  if (half < 1 || half >= static_cast<double>(x[0]) || std::frexp(half, &exponent) != 0.5)
    return op.emitOpError("half blocks of ") << half << "; expected a power of two below " << x[0];
  if (op.getFunction() == "level_pairs" && x[0] != x[1])
    return op.emitOpError("\"level_pairs\" takes a square tile, not ") << op.getX()[0].getType();
  for (Value y : op.getX())
    if (failed(expect_shape(op, y, x[0], x[1]))) return failure();
  return expect_shape(op, op.getResult(), x[0], x[1]);
}

LogicalResult verify_binary(CallOp op) {
  auto x = shape_of(op.getX()[0]), y = shape_of(op.getX()[1]);
  auto joined = [](int64_t a, int64_t b) { return a == b || b == 1 ? a : a == 1 ? b : -1; };
  if (has_shape(op.getResult(), joined(x[0], y[0]), joined(x[1], y[1]))) return success();
  return op.emitOpError() << op.getX()[0].getType() << " and " << op.getX()[1].getType() << " do not broadcast to "
                          << op.getResult().getType();
}

LogicalResult verify_shapes(CallOp op, Form form) {
  auto x = shape_of(op.getX()[0]);
  if (form == Form::row) return verify_row(op, op.getX()[0], op.getResult());
  if (form == Form::at_row) return verify_row(op, op.getResult(), op.getX()[0]);
  if (form == Form::diagonal) return expect_shape(op, op.getResult(), x[0], 1);
  if (form == Form::sum)
    return op.getFunction() == "sum_rows" ? expect_shape(op, op.getResult(), 1, x[1])
                                          : expect_shape(op, op.getResult(), x[0], 1);
  if (of_level(form)) return verify_level(op);
  if (form == Form::binary) return verify_binary(op);
  if (form == Form::shift && failed(expect_shape(op, op.getX()[1], 1, x[1]))) return failure();
  if (takes_shared(form)) {
    for (Value y : op.getX())
      if (failed(expect_shape(op, y, x[0], x[1]))) return failure();
    return expect_shape(op, op.getResult(), x[0], x[0]);
  }
  if (form == Form::square && x[0] != x[1])
    return op.emitOpError("\"") << op.getFunction() << "\" takes a square tile, not " << op.getX()[0].getType();
  return expect_shape(op, op.getResult(), x[0], x[1]);
}

// Returns whether templates/wkvc/cuda/strips.h has the function.
bool takes_strips(llvm::StringRef function) {
  switch (form_of(function)) {
    case Form::elementwise:
      return !llvm::is_contained({"keep_valid_columns", "offset"}, function);
    case Form::sum:
      return function == "sum_columns";
    case Form::level:
      return !llvm::is_contained({"level_pairs", "sum_of_other_half"}, function);
    case Form::row:
    case Form::constant:
    case Form::binary:
    case Form::shift:
    case Form::select_halves:
      return true;
    default:
      return false;
  }
}

// What is made of tiles in registers lies as they do.
LogicalResult verify_layouts(CallOp op) {
  const bool in_strips = is_in_strips(op.getResult());
  if (llvm::any_of(op.getX(), [&](Value x) { return is_in_strips(x) != in_strips; }))
    return op.emitOpError("\"") << op.getFunction() << "\" takes and makes tiles in strips, or none in strips";
  if (in_strips && !takes_strips(op.getFunction()))
    return op.emitOpError("\"") << op.getFunction() << "\" is nothing that tiles in strips are for";
  if (!in_strips && op.getFunction() == "shift_rows") return op.emitOpError("is of tiles in strips");
  return success();
}

}  // namespace

LogicalResult CallOp::verify() {
  Form form = form_of(getFunction());
  if (form == Form::none) return emitOpError("templates/ has no function \"") << getFunction() << "\"";
  if (failed(verify_operands(*this, form)) || failed(verify_layouts(*this))) return failure();
  return verify_shapes(*this, form);
}

}  // namespace wkvc::warp
