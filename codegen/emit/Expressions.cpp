#include "codegen/emit/Expressions.h"

#include <fmt/format.h>

#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

std::string shape_text(Type shaped) {
  auto shape = cast<warp::TileType>(shaped).getShape();
  return fmt::format("{}, {}", shape[0], shape[1]);
}

std::string float_text(const llvm::APFloat& number) {
  std::string text = fmt::format("{:.9g}", number.convertToFloat());
  bool integral = text.find_first_of(".e") == std::string::npos;
  return text + (integral ? ".f" : "f");
}

std::string Expressions::within(Value value, Binding around) const {
  Operation* op = value.getDefiningOp();
  if (!op || !warp::is_inlined(op)) return names_.of(value);
  if (auto rounded = dyn_cast<warp::RoundOp>(op)) return round(rounded);
  if (auto sum = dyn_cast<warp::WithScaleOp>(op)) return statement(sum);
  if (auto sum = dyn_cast<warp::WithoutScaleOp>(op)) return statement(sum);
  return call(cast<warp::CallOp>(op), around);
}

// A product of more than two factors has parentheses, too.
std::string Expressions::infix(warp::CallOp op, const char* symbol, Binding own, Binding around) const {
  const bool is_product = own == Binding::product;
  const std::string left = within(op.getX()[0], is_product ? Binding::operand : Binding::sum);
  std::string right = op.getConstant() ? float_text(*op.getConstant())
                                       : within(op.getX()[1], is_product ? Binding::operand : Binding::product);
  if (right[0] == '-') right = "(" + right + ")";
  return in_parentheses(fmt::format("{} {} {}", left, symbol, right), own, around);
}

std::string Expressions::call(warp::CallOp op, Binding around) const {
  llvm::StringRef function = op.getFunction();
  auto x = [&](int i) { return of(op.getX()[i]); };
  auto whole = [&] { return static_cast<int>(op.getConstant()->convertToFloat()); };
  if (function == "add" || function == "add_constant") return infix(op, "+", Binding::sum, around);
  if (function == "sub") return infix(op, "-", Binding::sum, around);
  if (function == "mul" || function == "mul_constant") return infix(op, "*", Binding::product, around);
  if (function == "neg") {
    const std::string text = within(op.getX()[0], Binding::operand);
    return text[0] == '-' ? "-(" + text + ")" : "-" + text;
  }
  if (function == "keep_valid") return fmt::format("keep_rows({}, valid)", x(0));
  if (function == "keep_valid_columns") return fmt::format("keep_columns({}, valid)", x(0));
  if (function == "offset") return fmt::format("offset({}, of_state)", x(0));
  if (function == "maximum" || function == "greater_than" || function == "not_below")
    return fmt::format("{}({}, {})", function.str(), x(0), float_text(*op.getConstant()));
  if (function == "at_row")
    return fmt::format("at_row<{}, {}>({})", whole(), cast<warp::TileType>(op.getType()).getDimSize(0), x(0));
  std::string arguments;
  for (Value operand : op.getX()) arguments += (arguments.empty() ? "" : ", ") + of(operand);
  // What is left of functions with a constant, row and those of levels, has it as its template argument.
  std::string constant = op.getConstant() ? fmt::format("<{}>", whole()) : "";
  return fmt::format("{}{}({})", function.str(), constant, arguments);
}

std::string Expressions::round(warp::RoundOp op) const {
  auto type = cast<warp::TileType>(op.getType());
  std::string element = dtype_text(type.getElementType());
  if (op.getScale()) return fmt::format("round_scaled<{}>({}, {})", element, of(op.getX()), names_.of(op.getScale()));
  if (op.getSlope())
    return fmt::format("round_in_scale<{}>({}, {}, {})", element, of(op.getX()), names_.of(op.getSlope()),
                       names_.of(op.getOffset()));
  const char* function = op.getInScale() ? "round_in_scale"
                         : op.getAsIs()  ? "round_as_is"
                         : op.getOwn()   ? "round_scaled"
                                         : "round";
  return fmt::format("{}<{}>({})", function, element, of(op.getX()));
}

std::string Expressions::columns(Value tile, Value column, bool own) const {
  std::string name = names_.of(tile);
  if (column) return fmt::format("{}.cols<{}>({})", name, warp::slab_width(column), names_.of(column));
  return own ? fmt::format("{}.cols<16>({})", name, value_row_) : name;
}

std::string Expressions::load(warp::LoadOp op) const {
  const char* function = warp::is_in_strips(op.getResult()) ? "load_strip"
                         : op.getTransposed()               ? "load_transposed"
                                                            : "load";
  std::string from = op.getOwnRows() ? names_.of(op.getTile()) + ".rows<16>(row0)"
                                     : columns(op.getTile(), op.getColumn(), op.getOwn());
  if (warp::is_of_columns(op.getResult())) return fmt::format("load_columns(trans({}))", from);
  return fmt::format("{}({})", function, from);
}

std::string Expressions::operand(Value tile, Value column, Value scale, bool transposed) const {
  std::string text = column ? columns(tile, column, false) : of(tile);
  if (scale) text = fmt::format("scaled({}, {})", text, names_.of(scale));
  return transposed ? "trans(" + text + ")" : text;
}

}  // namespace wkvc
