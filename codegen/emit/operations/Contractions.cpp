// Contractions, the zeros that they begin with, and the equations above them.
#include <llvm/ADT/MapVector.h>

#include "codegen/emit/Batches.h"
#include "codegen/emit/operations/Operations.h"
#include "codegen/ir/DerivedNames.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

static void write_zeros(KernelText& text, warp::ZerosOp op) {
  auto reader = op->hasOneUse() ? dyn_cast<warp::MmaOp>(*op->user_begin()) : warp::MmaOp();
  if (reader && reader.getNewScale() && reader.getAcc() == op.getResult()) return;  // a product alone
  auto shape = cast<warp::TileType>(op.getType()).getShape();
  const std::string name = text.declare(op.getResult());
  if (shape[0] == 1 || shape[1] == 1)
    text.line("const {}<{}> {}{{}};", shape[0] == 1 ? "RowVec" : "ColVec", shape[0] * shape[1], name);
  else
    text.line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
}

static std::string in_triangle(std::optional<warp::Triangle> triangle, const std::string& operand) {
  return triangle ? fmt::format("{}({})", warp::stringifyTriangle(*triangle).str(), operand) : operand;
}

static std::string operands(const KernelText& text, warp::MmaOp op) {
  const std::string x = text.expressions.operand(op.getX(), {}, op.getXScale(), op.getXTransposed());
  const std::string y = text.expressions.operand(op.getY(), op.getYColumn(), op.getYScale(), op.getYTransposed());
  return fmt::format("{}, {}", in_triangle(op.getXTriangle(), x), in_triangle(op.getYTriangle(), y));
}

// Returns the variable that the contraction adds to, declared here unless it is the accumulator's.
static std::string begin_sum(KernelText& text, warp::MmaOp op) {
  if (warp::accumulates_in_place(op))
    text.names.alias(op.getResult(), op.getAcc());
  else
    text.line("auto {} = {};", text.declare(op.getResult()), text.expr(op.getAcc()));
  return text.names.of(op.getResult());
}

// Returns the nearest operation before or after `op` that has text.
static Operation* neighbour(Operation* op, Operation* (Operation::*step)()) {
  do op = (op->*step)();
  while (op && warp::is_inlined(op));
  return op;
}

// Returns the contraction that adds to the same sum next, if nothing comes in between.
static warp::MmaOp next_term(warp::MmaOp op) {
  auto next = dyn_cast_or_null<warp::MmaOp>(neighbour(op, &Operation::getNextNode));
  return next && next.getAcc() == op.getResult() && !next.isByGroups() && warp::accumulates_in_place(next)
             ? next
             : warp::MmaOp();
}

// Returns "M·U0" or "S·kᵀ"; nothing if the operation does not name its factors.
static std::string product_text(warp::MmaOp op) {
  std::vector<std::string> factors;
  if (auto names = op.getFactors())
    for (llvm::StringRef name : names->getAsValueRange<StringAttr>())
      factors.push_back(name.consume_back("^T") ? name.str() + "ᵀ" : name.str());
  return fmt::format("{}", fmt::join(factors, "·"));
}

// Returns `op` and the contractions that add to the same sum behind it.
static llvm::SmallVector<warp::MmaOp> terms_from(warp::MmaOp op) {
  llvm::SmallVector<warp::MmaOp> terms;
  for (; op; op = next_term(op)) terms.push_back(op);
  return terms;
}

// `sum`: the variable of all these terms, the first of which may begin it.
static void write_equation(KernelText& text, const std::string& sum, llvm::ArrayRef<warp::MmaOp> terms) {
  std::vector<std::string> products;
  warp::MmaOp first = terms.front();
  const bool begins = isa_and_nonnull<warp::ZerosOp>(first.getAcc().getDefiningOp());
  const bool adds = !begins && !first.getNewScale() && warp::accumulates_in_place(first);
  if (!begins && !adds) products.push_back(text.expr(first.getAcc()));
  for (warp::MmaOp term : terms) {
    products.push_back(product_text(term));
    if (products.back().empty()) return;
  }
  text.line("// {} {} {}", sum, adds ? "+=" : "=", fmt::join(products, " + "));
}

// Contractions by the variable that they add to.
using Sums = llvm::MapVector<std::string, llvm::SmallVector<warp::MmaOp>, std::map<std::string, unsigned>>;

static void write_by_groups(KernelText& text, warp::MmaOp first) {
  std::vector<std::string> terms;
  Sums sums;
  for (Operation* op = first; op && (op == first || joins_group(*op)); op = op->getNextNode()) {
    if (auto zeros = dyn_cast<warp::ZerosOp>(op)) write_zeros(text, zeros);
    auto mma = dyn_cast<warp::MmaOp>(op);
    if (!mma) continue;
    const std::string sum = begin_sum(text, mma);
    terms.push_back(fmt::format("term({}, {})", sum, operands(text, mma)));
    sums[sum].push_back(mma);
  }
  for (const auto& [sum, added] : sums) write_equation(text, sum, added);
  if (terms.size() == 1) return text.line("group_mma({});", terms.front());
  text.lines.call("group_mma(", terms);
}

// Writes a contraction whose result carries the product of the operands' scales.
static void write_product(KernelText& text, warp::MmaOp op) {
  const bool alone = op.getAcc().getDefiningOp<warp::ZerosOp>() && op.getAcc().hasOneUse();
  const std::string product = text.declare(op.getResult());
  write_equation(text, product, terms_from(op));
  text.line("{}auto {} = product_nt({}{});", warp::is_accumulator(op.getResult()) ? "" : "const ", product,
            alone ? "" : text.expr(op.getAcc()) + ", ", operands(text, op));
}

static void write_mma(KernelText& text, warp::MmaOp op) {
  if (op.isByGroups()) return write_by_groups(text, op);
  if (op.getNewScale()) return write_product(text, op);
  const char* function = op.getInScale() ? "accumulate" : op.getSameScale() ? "mma_same_scale" : "mma_nt";
  const std::string sum = begin_sum(text, op);
  auto last = dyn_cast_or_null<warp::MmaOp>(neighbour(op, &Operation::getPrevNode));
  const bool goes_on = last && !last.isByGroups() && next_term(last) == op;  // the equation above has this term
  if (!goes_on) write_equation(text, sum, terms_from(op));
  text.line("{}({}, {});", function, sum, operands(text, op));
}

static void write_column_dots(KernelText& text, warp::ColumnDotsOp op) {
  const std::string dots = text.declare(op.getResult());
  const auto name = [](Value x) { return without_storage(name_of(x)).str(); };
  if (const std::string x = name(op.getX()), y = name(op.getY()); !x.empty() && !y.empty())
    text.line("// {}[k] = Σ_v {}[v,k]·{}[v,k]{}", dots, x, y,
              op.getRows() ? fmt::format(" + Σ_t ({})[t,k]", text.expr(op.getRows())) : "");
  text.line("const auto {} = column_dots({}, {}{});", dots,
            text.expressions.operand(op.getX(), op.getColumn(), op.getXScale(), false),
            text.expressions.operand(op.getY(), op.getColumn(), op.getYScale(), false),
            op.getRows() ? ", " + text.expr(op.getRows()) : "");
}

void add_contractions(OperationWriters& writers) {
  writers.add(write_zeros);
  writers.add(write_mma);
  writers.add(write_column_dots);
}

}  // namespace wkvc
