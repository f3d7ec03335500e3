#include "codegen/passes/chunk/ChainSums.h"

#include "codegen/chunk/DropUnused.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/place/Placing.h"

using namespace mlir;

namespace wkvc {

namespace {

// A sum without broadcasting.
chunk::AddOp plain_sum(Value x) {
  auto sum = x.getDefiningOp<chunk::AddOp>();
  return sum && sum.getX().getType() == sum.getType() && sum.getY().getType() == sum.getType() ? sum : chunk::AddOp();
}

// Part of a larger sum and of nothing else.
bool is_inner(chunk::AddOp sum) {
  return sum->hasOneUse() && isa<chunk::AddOp>(*sum->user_begin()) && plain_sum((*sum->user_begin())->getResult(0)) &&
         sum->getBlock() == (*sum->user_begin())->getBlock();
}

void collect_terms(Value x, bool outermost, llvm::SmallVectorImpl<Value>& terms) {
  auto sum = plain_sum(x);
  if (!sum || (!outermost && !is_inner(sum))) {
    terms.push_back(x);
    return;
  }
  collect_terms(sum.getX(), false, terms);
  collect_terms(sum.getY(), false, terms);
}

llvm::SmallVector<Value> terms_of(chunk::AddOp sum) {
  llvm::SmallVector<Value> terms;
  collect_terms(sum.getResult(), true, terms);
  return terms;
}

Value add(OpBuilder& b, Value x, Value y) { return chunk::AddOp::create(b, b.getUnknownLoc(), x.getType(), x, y); }

// Makes `sum` that of its terms, in their order.
void rebuild(chunk::AddOp sum, llvm::ArrayRef<Value> terms) {
  OpBuilder b(sum);
  Value partial = terms[0];
  for (Value term : terms.drop_front().drop_back()) partial = add(b, partial, term);
  sum.getXMutable().assign(partial);
  sum.getYMutable().assign(terms.back());
}

// Sums over the tokens of values of one size become one: Σx + Σy = Σ(x + y).
void join_row_sums(chunk::AddOp sum, const Spaces& spaces) {
  llvm::SmallVector<Value> terms;
  chunk::SumRowsOp joined;
  for (Value term : terms_of(sum)) {
    auto rows = term.getDefiningOp<chunk::SumRowsOp>();
    bool of_tokens = rows && rows->hasOneUse() && spaces.lookup(rows.getX()).rows == Axis::token;
    if (!of_tokens || (joined && joined.getX().getType() != rows.getX().getType())) {
      terms.push_back(term);
    } else if (!joined) {
      joined = rows;
    } else {
      OpBuilder b(sum);
      Value inside = add(b, joined.getX(), rows.getX());
      joined = chunk::SumRowsOp::create(b, b.getUnknownLoc(), rows.getType(), inside);
    }
  }
  if (!joined) return;
  terms.push_back(joined);
  if (terms.size() > 1) return rebuild(sum, terms);
  sum.replaceAllUsesWith(joined.getResult());
}

void sort_terms(chunk::AddOp sum, const Placement& placement) {
  llvm::SmallVector<Value> terms = terms_of(sum);
  if (terms.size() < 3) return;
  auto order = [&](Value x) {
    return std::pair(is_source(x) ? 0 : placement.of(x).phase, static_cast<bool>(x.getDefiningOp<chunk::DotOp>()));
  };
  llvm::stable_sort(terms, [&](Value x, Value y) { return order(x) < order(y); });
  rebuild(sum, terms);
}

// Calls f with every sum that is not part of a larger one.
template <class F>
void for_each_sum(chunk::ProgramOp program, F f) {
  llvm::SmallVector<chunk::AddOp> sums;
  for (auto sum : program.getBody().getOps<chunk::AddOp>())
    if (plain_sum(sum.getResult()) && !is_inner(sum)) sums.push_back(sum);
  for (chunk::AddOp sum : sums) f(sum);
  drop_dead_values(program);
}

}  // namespace

void chain_sums(chunk::ProgramOp program) {
  for_each_sum(program, [spaces = infer_spaces(program)](chunk::AddOp sum) { join_row_sums(sum, spaces); });
  for_each_sum(program, [placement = place_values(program, /*warps=*/1, /*by_teams=*/false)](chunk::AddOp sum) {
    sort_terms(sum, placement);
  });
}

}  // namespace wkvc
