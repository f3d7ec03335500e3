// Scales, and units that gradients are multiples of.
#include "codegen/emit/Batches.h"
#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

static std::string largest_in(const KernelText& text, Value slots) {
  const bool one = cast<warp::TileType>(slots.getType()).getDimSize(0) == 1;
  return one ? "*" + text.names.of(slots) : fmt::format("block_max({}, block)", text.names.of(slots));
}

static void write_times_unit(KernelText& text, warp::TimesUnitOp op) {
  std::string unit = text.names.of(op.getUnit());
  if (op.getOver()) unit = fmt::format("inverse_scale({})", unit);
  if (op.getOfState()) unit = fmt::format("(of_state ? {} : 1.f)", unit);
  if (op.getFactor()) unit = fmt::format("({} * {})", float_text(*op.getFactor()), unit);
  text.define(op.getResult(), fmt::format("{} * {}", text.expressions.of_factor(op.getX()), unit));
}

static void write_times_power(KernelText& text, warp::TimesPowerOp op) {
  std::string power = float_text(llvm::APFloat(std::exp2f(static_cast<float>(static_cast<int64_t>(op.getExponent())))));
  if (op.getOfState()) power = fmt::format("(of_state ? {} : 1.f)", power);
  text.define(op.getResult(), fmt::format("{} * {}", text.expressions.of_factor(op.getX()), power));
}

static void write_plus_exponent(KernelText& text, warp::PlusExponentOp op) {
  std::string exponent = fmt::format("exponent_of({})", text.names.of(op.getUnit()));
  if (op.getNumber()) exponent = fmt::format("({} + {})", exponent, float_text(*op.getNumber()));
  text.define(op.getResult(), fmt::format("{} {} {}", text.expr(op.getX()), op.getLess() ? "-" : "+", exponent));
}

static void write_scale_for(KernelText& text, warp::ScaleForOp op) {
  std::vector<std::string> products;
  auto slots = op.getSlots().begin();
  const int64_t all = static_cast<int64_t>(op.getSlots().size());
  for (int64_t count : op.getCounts().value_or(llvm::ArrayRef(all))) {
    std::vector<std::string> maxima;
    for (; count > 0; --count) maxima.push_back(largest_in(text, *slots++));
    products.push_back(fmt::format("{}", fmt::join(maxima, " * ")));
  }
  const std::string sum = fmt::format("{}", fmt::join(products, " + "));
  text.line("const float {} = scale_for({} * {});", text.declare(op.getResult()),
            products.size() == 1 ? sum : "(" + sum + ")", float_text(op.getFactor()));
}

static void write_own_scale(KernelText& text, warp::OwnScaleOp op) {
  text.line("const float {} = scale_for(max_abs({}) * {});", text.declare(op.getResult()), text.expr(op.getX()),
            float_text(op.getFactor()));
}

static void write_scale_of(KernelText& text, warp::ScaleOfOp op) {
  text.line("const float {} = *{}.scale;", text.declare(op.getResult()), text.names.of(op.getX()));
}

static void write_fit_scale(KernelText& text, warp::FitScaleOp op) {
  text.define(op.getResult(),
              fmt::format("in_fitting_scale({}, {}, {}, {})", text.expr(op.getX()), largest_in(text, op.getSlots()),
                          text.names.of(op.getSlope()), text.names.of(op.getOffset())));
}

static void write_leave_scale(KernelText& text, warp::LeaveScaleOp op) {
  text.line("if (block.warp == 0) {{  // all have the same");
  const Braces braces(text);
  for (warp::LeaveScaleOp scale : row_from(op))
    text.line("store_scale({}, {}.scale);", text.names.of(scale.getTo()), text.names.of(scale.getX()));
}

static void write_bound(KernelText& text, warp::BoundOp op) {
  std::string product = float_text(op.getFactor());
  // Factors and divisors take turns: products of maxima alone may leave the range of f32.
  for (size_t i = 0; i < std::max(op.getSlots().size(), op.getUnder().size()); ++i) {
    if (i < op.getSlots().size()) product += " * " + largest_in(text, op.getSlots()[i]);
    if (i < op.getUnder().size()) product += fmt::format(" * inverse_scale({})", text.names.of(op.getUnder()[i]));
  }
  for (Value scale : op.getScales()) product += " * " + text.names.of(scale);
  text.line("const float {} = {};", text.declare(op.getResult()), product);
}

static void write_with_scale(KernelText& text, warp::WithScaleOp op) {
  text.line("auto {} = {};", text.declare(op.getResult()), text.expressions.statement(op));
}

static void write_without_scale(KernelText& text, warp::WithoutScaleOp op) {
  text.define(op.getResult(), text.expressions.statement(op));
}

void add_scales(OperationWriters& writers) {
  writers.add(write_times_unit);
  writers.add(write_times_power);
  writers.add(write_plus_exponent);
  writers.add(write_scale_for);
  writers.add(write_own_scale);
  writers.add(write_scale_of);
  writers.add(write_fit_scale);
  writers.add(write_leave_scale);
  writers.add(write_bound);
  writers.add(write_with_scale);
  writers.add(write_without_scale);
}

}  // namespace wkvc
