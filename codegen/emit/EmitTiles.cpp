// What is computed with tiles: contractions, scales, units, states as they are carried.
#include <llvm/ADT/MapVector.h>

#include "codegen/emit/Emitter.h"
#include "codegen/ir/DerivedNames.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

std::string Emitter::sample(llvm::StringRef name) {
  const TensorSpec& spec = spec_of(name);
  const char last = spec.dims.back()[0];
  const std::int64_t columns = last == 'K' ? manifest_.key_dim : last == 'V' ? manifest_.value_dim : 1;
  const std::string chunk = std::to_string(kernel_.getChunk());
  const std::string tokens =
      is_cut()
          ? fmt::format(
                "first_token<{0}>(tokens_of(args, block), begin), first_token<{0}>(tokens_of(args, block), end)", chunk)
          : "0, tokens_of(args, block)";
  return fmt::format("largest_of_sample<{}, {}>({}, block, {})", name_of(spec.dtype), columns, tensor(name), tokens);
}

void Emitter::expect(const std::string& start, ArrayAttr names) {
  std::vector<std::string> samples;
  for (auto name : names.getAsValueRange<StringAttr>()) samples.push_back(sample(name));
  if (!samples.empty()) call(start, samples);
}

void Emitter::write(warp::ExpectOp op) {
  std::string seen = "f32";
  kernel_.walk([&](warp::StoreOutputOp store) { seen = dtype_text(store.getDtype()); });
  line("Guard<{}> guard({}, block);", seen, tensor(op.getTensor()));
  expect("guard.expect(", op.getInputs());
  if (op.getUnit()) expect(fmt::format("const float {} = guard.unit(", declare(op.getUnit())), op.getGradients());
  line("if (guard.refuses_samples()) return;");
}

void Emitter::write(warp::RefuseOp op) {
  if (is_cluster()) {
    line("guard.tell_cluster<{}>({});", kernel_.getCluster(), expr(op.getState()));
    write_meeting();
    line("if (guard.refuses_with_cluster()) return;");
    return;
  }
  line("if (guard.refuses_state<{}{}>({})) return;", warp::row_warps(kernel_),
       goes_ahead() ? fmt::format(", {}", sm_90a.most_teams()) : "", expr(op.getState()));
}

void Emitter::write(warp::TimesUnitOp op) {
  std::string unit = names_.of(op.getUnit());
  if (op.getOver()) unit = fmt::format("inverse_scale({})", unit);
  if (op.getOfState()) unit = fmt::format("(of_state ? {} : 1.f)", unit);
  if (op.getFactor()) unit = fmt::format("({} * {})", float_text(*op.getFactor()), unit);
  line("const auto {} = {} * {};", declare(op.getResult()), expressions_.of_factor(op.getX()), unit);
}

void Emitter::write(warp::TimesPowerOp op) {
  std::string power = float_text(llvm::APFloat(std::exp2f(static_cast<float>(static_cast<int64_t>(op.getExponent())))));
  if (op.getOfState()) power = fmt::format("(of_state ? {} : 1.f)", power);
  line("const auto {} = {} * {};", declare(op.getResult()), expressions_.of_factor(op.getX()), power);
}

void Emitter::write(warp::PlusExponentOp op) {
  std::string exponent = fmt::format("exponent_of({})", names_.of(op.getUnit()));
  if (op.getNumber()) exponent = fmt::format("({} + {})", exponent, float_text(*op.getNumber()));
  line("const auto {} = {} {} {};", declare(op.getResult()), expr(op.getX()), op.getLess() ? "-" : "+", exponent);
}

void Emitter::write(warp::ScaleForOp op) {
  std::vector<std::string> products;
  auto slots = op.getSlots().begin();
  const int64_t all = static_cast<int64_t>(op.getSlots().size());
  for (int64_t count : op.getCounts().value_or(llvm::ArrayRef(all))) {
    std::vector<std::string> maxima;
    for (; count > 0; --count) maxima.push_back(largest_in(*slots++));
    products.push_back(fmt::format("{}", fmt::join(maxima, " * ")));
  }
  std::string sum = fmt::format("{}", fmt::join(products, " + "));
  line("const float {} = scale_for({} * {});", declare(op.getResult()), products.size() == 1 ? sum : "(" + sum + ")",
       float_text(op.getFactor()));
}

void Emitter::write(warp::OwnScaleOp op) {
  line("const float {} = scale_for(max_abs({}) * {});", declare(op.getResult()), expr(op.getX()),
       float_text(op.getFactor()));
}

void Emitter::write(warp::RoundBesideOp op) {
  std::string x = expressions_.operand(op.getX(), {}, op.getScale(), /*transposed=*/false);
  line("const auto {} = round_beside<{}>({}, {}, {});", declare(op.getResult()),
       dtype_text(cast<VectorType>(op.getType()).getElementType()), x, expr(op.getState()), names_.of(op.getOther()));
}

void Emitter::write(warp::FitScaleOp op) {
  line("const auto {} = in_fitting_scale({}, {}, {}, {});", declare(op.getResult()), expr(op.getX()),
       largest_in(op.getSlots()), names_.of(op.getSlope()), names_.of(op.getOffset()));
}

void Emitter::write(warp::LeaveScaleOp op) {
  line("if (block.warp == 0) {{  // all have the same");
  for (warp::LeaveScaleOp scale : row_from(op))
    line("  store_scale({}, {}.scale);", names_.of(scale.getTo()), names_.of(scale.getX()));
  line("}}");
}

void Emitter::write(warp::BoundOp op) {
  std::string product = float_text(op.getFactor());
  // By turns, as products of maxima alone may leave the range of f32.
  for (size_t i = 0; i < std::max(op.getSlots().size(), op.getUnder().size()); ++i) {
    if (i < op.getSlots().size()) product += " * " + largest_in(op.getSlots()[i]);
    if (i < op.getUnder().size()) product += fmt::format(" * inverse_scale({})", names_.of(op.getUnder()[i]));
  }
  for (Value scale : op.getScales()) product += " * " + names_.of(scale);
  line("const float {} = {};", declare(op.getResult()), product);
}

void Emitter::write(warp::CallOp op) {
  line("{}auto {} = {};", is_accumulator(op.getResult()) ? "" : "const ", declare(op.getResult()),
       expressions_.statement(op));
}

void Emitter::write(warp::DecayingOp op) {
  line("const auto {} = decaying({}{});", declare(op.getResult()), expr(op.getX()),
       op.getRow() ? ", " + expr(op.getRow()) : "");
}

void Emitter::write(warp::UnitLowerInverseOp op) {
  const std::string inverse = declare(op.getResult());
  line("// {} = (1 - {})^-1", inverse, expr(op.getX()));
  line("const auto {} = unit_lower_inverse<{}>({}, {});", inverse, op.getDtype().str(), expr(op.getX()),
       names_.of(op.getScratch()));
}

void Emitter::write(warp::WithoutScaleOp op) {
  line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op));
}

void Emitter::write(warp::TransposeOp op) {
  line("const auto {} = transpose({});", declare(op.getResult()), expr(op.getX()));
}

void Emitter::write(warp::WidenOp op) {
  std::string x = expr(op.getX());
  if (op.getScale()) x = fmt::format("scaled({}, {})", x, expr(op.getScale()));
  line("const auto {} = widen({});", declare(op.getResult()), x);
}

void Emitter::write(warp::WidenOverOp op) {
  line("const auto {} = widen_over({}, {});", declare(op.getResult()), expr(op.getX()), names_.of(op.getScale()));
}

void Emitter::write(warp::ZerosOp op) {
  auto reader = op->hasOneUse() ? dyn_cast<warp::MmaOp>(*op->user_begin()) : warp::MmaOp();
  if (reader && reader.getNewScale() && reader.getAcc() == op.getResult()) return;  // a product alone
  auto shape = cast<VectorType>(op.getType()).getShape();
  std::string name = declare(op.getResult());
  if (shape[0] == 1 || shape[1] == 1)
    line("const {}<{}> {}{{}};", shape[0] == 1 ? "RowVec" : "ColVec", shape[0] * shape[1], name);
  else
    line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
}

bool Emitter::is_accumulator(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation* user) {
    if (auto round = dyn_cast<warp::RoundOp>(user); round && round.getInScale()) return true;
    auto mma = dyn_cast<warp::MmaOp>(user);
    return mma && mma.getAcc() == value && warp::accumulates_in_place(mma);
  });
}

std::string Emitter::operands(warp::MmaOp op) {
  const auto in_triangle = [](std::optional<llvm::StringRef> triangle, const std::string& operand) {
    return triangle ? fmt::format("{}({})", triangle->str(), operand) : operand;
  };
  return fmt::format(
      "{}, {}",
      in_triangle(op.getXTriangle(), expressions_.operand(op.getX(), {}, op.getXScale(), op.getXTransposed())),
      in_triangle(op.getYTriangle(),
                  expressions_.operand(op.getY(), op.getYColumn(), op.getYScale(), op.getYTransposed())));
}

std::string Emitter::begin_sum(warp::MmaOp op) {
  if (warp::accumulates_in_place(op))
    names_.alias(op.getResult(), op.getAcc());
  else
    line("auto {} = {};", declare(op.getResult()), expr(op.getAcc()));
  return names_.of(op.getResult());
}

// The operation before or after this one that has text.
static Operation* neighbour(Operation* op, Operation* (Operation::*step)()) {
  do op = (op->*step)();
  while (op && warp::is_inlined(op));
  return op;
}

// The contraction that adds to the same sum next, if nothing comes in between.
static warp::MmaOp next_term(warp::MmaOp op) {
  auto next = dyn_cast_or_null<warp::MmaOp>(neighbour(op, &Operation::getNextNode));
  return next && next.getAcc() == op.getResult() && !next.getByGroups() && warp::accumulates_in_place(next)
             ? next
             : warp::MmaOp();
}

// "M·U0", "S·kᵀ"; empty if the operation does not say it.
static std::string product_text(warp::MmaOp op) {
  std::vector<std::string> factors;
  if (auto names = op.getFactors())
    for (llvm::StringRef name : names->getAsValueRange<StringAttr>())
      factors.push_back(name.consume_back("^T") ? name.str() + "ᵀ" : name.str());
  return fmt::format("{}", fmt::join(factors, "·"));
}

// `op` and the contractions that add to the same sum behind it.
static llvm::SmallVector<warp::MmaOp> terms_from(warp::MmaOp op) {
  llvm::SmallVector<warp::MmaOp> terms;
  for (; op; op = next_term(op)) terms.push_back(op);
  return terms;
}

// `sum`: the variable of all these terms, the first of which may begin it.
void Emitter::write_equation(const std::string& sum, llvm::ArrayRef<warp::MmaOp> terms) {
  std::vector<std::string> products;
  warp::MmaOp first = terms.front();
  const bool begins = isa_and_nonnull<warp::ZerosOp>(first.getAcc().getDefiningOp());
  const bool adds = !begins && !first.getNewScale() && warp::accumulates_in_place(first);
  if (!begins && !adds) products.push_back(expr(first.getAcc()));
  for (warp::MmaOp term : terms) {
    products.push_back(product_text(term));
    if (products.back().empty()) return;
  }
  line("// {} {} {}", sum, adds ? "+=" : "=", fmt::join(products, " + "));
}

void Emitter::write_by_groups(warp::MmaOp first) {
  std::vector<std::string> terms;
  llvm::MapVector<llvm::StringRef, llvm::SmallVector<warp::MmaOp>> sums;  // by their variables
  for (Operation* op = first; op && (op == first || joins_group(*op)); op = op->getNextNode()) {
    if (auto zeros = dyn_cast<warp::ZerosOp>(op)) write(zeros);
    auto mma = dyn_cast<warp::MmaOp>(op);
    if (!mma) continue;
    const std::string sum = begin_sum(mma);
    terms.push_back(fmt::format("term({}, {})", sum, operands(mma)));
    sums[StringAttr::get(mma.getContext(), sum).getValue()].push_back(mma);
  }
  for (auto& [sum, added] : sums) write_equation(sum.str(), added);
  if (terms.size() == 1) return line("group_mma({});", terms.front());
  call("group_mma(", terms);
}

void Emitter::write(warp::MmaOp op) {
  if (op.getByGroups()) return write_by_groups(op);
  if (op.getNewScale()) {
    bool alone = op.getAcc().getDefiningOp<warp::ZerosOp>() && op.getAcc().hasOneUse();
    const std::string product = declare(op.getResult());
    write_equation(product, terms_from(op));
    line("{}auto {} = product_nt({}{});", is_accumulator(op.getResult()) ? "" : "const ", product,
         alone ? "" : expr(op.getAcc()) + ", ", operands(op));
    return;
  }
  const char* function = op.getInScale() ? "accumulate" : op.getSameScale() ? "mma_same_scale" : "mma_nt";
  const std::string sum = begin_sum(op);
  auto last = dyn_cast_or_null<warp::MmaOp>(neighbour(op, &Operation::getPrevNode));
  const bool goes_on = last && !last.getByGroups() && next_term(last) == op;  // the equation above has this term
  if (!goes_on) write_equation(sum, terms_from(op));
  line("{}({}, {});", function, sum, operands(op));
}

void Emitter::write(warp::ColumnDotsOp op) {
  const std::string dots = declare(op.getResult());
  const auto name = [](Value x) { return without_storage(name_of(x)).str(); };
  if (const std::string x = name(op.getX()), y = name(op.getY()); !x.empty() && !y.empty())
    line("// {}[k] = Σ_v {}[v,k]·{}[v,k]{}", dots, x, y,
         op.getRows() ? fmt::format(" + Σ_t ({})[t,k]", expr(op.getRows())) : "");
  line("const auto {} = column_dots({}, {}{});", dots,
       expressions_.operand(op.getX(), op.getColumn(), op.getXScale(), false),
       expressions_.operand(op.getY(), op.getColumn(), op.getYScale(), false),
       op.getRows() ? ", " + expr(op.getRows()) : "");
}

}  // namespace wkvc
