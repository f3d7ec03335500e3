// What is computed with tiles: contractions, scales, units, states as they are carried.
#include "codegen/emit/Emitter.h"

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
  line("const auto {} = unit_lower_inverse<{}>({}, {});", declare(op.getResult()), op.getDtype().str(), expr(op.getX()),
       names_.of(op.getScratch()));
}

void Emitter::write(warp::WithoutScaleOp op) {
  line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op));
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

// Whether the text of `user`, in a line of its own or its reader's, comes before that of `op`.
static bool is_written_before(Operation* user, Operation* op) {
  if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op)) return false;
  return !Expressions::is_inlined(user) || is_written_before(*user->user_begin(), op);
}

// Whether `op` may add to the variable of its accumulator, which may be a loop's state: nothing reads it afterwards.
bool Emitter::accumulates_in_place(warp::MmaOp op) {
  Value acc = op.getAcc();
  if (acc.getParentBlock() != op->getBlock()) return false;
  if (!isa<BlockArgument>(acc) && !isa<warp::MmaOp, warp::ZerosOp, warp::CallOp>(acc.getDefiningOp())) return false;
  return llvm::all_of(acc.getUsers(), [&](Operation* user) { return user == op || is_written_before(user, op); });
}

bool Emitter::is_accumulator(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation* user) {
    if (auto round = dyn_cast<warp::RoundOp>(user); round && round.getInScale()) return true;
    auto mma = dyn_cast<warp::MmaOp>(user);
    return mma && mma.getAcc() == value && accumulates_in_place(mma);
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
  if (accumulates_in_place(op))
    names_.alias(op.getResult(), op.getAcc());
  else
    line("auto {} = {};", declare(op.getResult()), expr(op.getAcc()));
  return names_.of(op.getResult());
}

void Emitter::write_by_groups(warp::MmaOp first) {
  std::vector<std::string> terms;
  for (Operation* op = first; op && (op == first || joins_group(*op)); op = op->getNextNode()) {
    if (auto zeros = dyn_cast<warp::ZerosOp>(op)) write(zeros);
    if (auto mma = dyn_cast<warp::MmaOp>(op))
      terms.push_back(fmt::format("term({}, {})", begin_sum(mma), operands(mma)));
  }
  if (terms.size() == 1) return line("group_mma({});", terms.front());
  call("group_mma(", terms);
}

void Emitter::write(warp::MmaOp op) {
  if (op.getByGroups()) return write_by_groups(op);
  if (op.getNewScale()) {
    bool alone = op.getAcc().getDefiningOp<warp::ZerosOp>() && op.getAcc().hasOneUse();
    line("{}auto {} = product_nt({}{});", is_accumulator(op.getResult()) ? "" : "const ", declare(op.getResult()),
         alone ? "" : expr(op.getAcc()) + ", ", operands(op));
    return;
  }
  const char* function = op.getInScale() ? "accumulate" : op.getSameScale() ? "mma_same_scale" : "mma_nt";
  const std::string sum = begin_sum(op);
  line("{}({}, {});", function, sum, operands(op));
}

void Emitter::write(warp::ColumnDotsOp op) {
  line("const auto {} = column_dots({}, {}{});", declare(op.getResult()),
       expressions_.operand(op.getX(), op.getColumn(), op.getXScale(), false),
       expressions_.operand(op.getY(), op.getColumn(), op.getYScale(), false),
       op.getRows() ? ", " + expr(op.getRows()) : "");
}

}  // namespace wkvc
