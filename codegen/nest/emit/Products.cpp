// Products of warp groups, issued and awaited apart.
#include "codegen/ir/Text.h"
#include "codegen/nest/emit/Expressions.h"
#include "codegen/nest/emit/Operations.h"
#include "codegen/nest/emit/Types.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// The first operand, in registers or in shared memory.
std::string x_text(const NestText& text, Value x) {
  return cast<TileType>(x.getType()).isShared() ? shared_text(text, x) : tile_text(text, x);
}

// The second operand, whose rows are the result's columns.
std::string y_text(const NestText& text, Value y) {
  if (auto transpose = y.getDefiningOp<TransposeOp>()) return shared_text(text, transpose.getTile());
  return fmt::format("trans({})", shared_text(text, y));
}

// Returns the name of what the last product behind this one is awaited as.
llvm::StringRef awaited_name(IssueOp issue) {
  Operation* const user = *issue.getResult().user_begin();
  if (auto behind = dyn_cast<IssueOp>(user)) return awaited_name(behind);
  return name_of(cast<AwaitOp>(user).getTile());
}

// Returns the variable of a product's sums: that of what the product is added to, or a new one.
std::string sums_variable(NestText& text, IssueOp issue) {
  if (Value before = issue.getSum() ? Value(issue.getSum()) : Value(issue.getBehind())) {
    if (before.hasOneUse()) {
      text.names.alias(issue.getResult(), before);
      return text.name(before);
    }
    text.line("auto {} = {};", text.declare(issue.getResult()), tile_text(text, before));
    return text.name(issue.getResult());
  }
  const TileType tile = cast<PendingType>(issue.getResult().getType()).getTile();
  const std::string sums = text.names.declare(issue.getResult(), awaited_name(issue));
  text.line("{} {};", register_type(tile), sums);
  return sums;
}

void write_issue(NestText& text, IssueOp issue) {
  const std::string sums = sums_variable(text, issue);
  const bool is_added = issue.getSum() || issue.getBehind();
  text.line("{}(role, {}, {}, {});", is_added ? "issue_added" : "issue", sums, x_text(text, issue.getX()),
            y_text(text, issue.getY()));
  if (!llvm::is_contained(text.under_way, sums)) text.under_way.push_back(sums);
}

// Waits for all products under way: ptxas keeps none of them apart from the others.
void write_await(NestText& text, AwaitOp await) {
  text.names.alias(await.getTile(), await.getPending());
  if (!llvm::is_contained(text.under_way, text.name(await.getTile()))) return;
  std::string sums;
  for (const std::string& each : text.under_way) sums += (sums.empty() ? "" : ", ") + each;
  text.line("await_products({});", sums);
  text.under_way.clear();
}

}  // namespace

void add_products(OperationWriters& writers) {
  writers.add<AwaitOp>(write_await);
  writers.add<IssueOp>(write_issue);
}

}  // namespace wkvc::nest
