#include "codegen/lower/ChainSums.h"

#include "codegen/ir/Text.h"
#include "codegen/lower/Placement.h"

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

void rebuild(chunk::AddOp sum, const Placement& placement) {
  llvm::SmallVector<Value> terms;
  collect_terms(sum.getResult(), true, terms);
  if (terms.size() < 3) return;
  auto order = [&](Value x) {
    return std::pair(is_source(x) ? 0 : placement.of(x).phase, static_cast<bool>(x.getDefiningOp<chunk::DotOp>()));
  };
  llvm::stable_sort(terms, [&](Value x, Value y) { return order(x) < order(y); });
  OpBuilder b(sum);
  Value partial = terms[0];
  for (size_t i = 1; i + 1 < terms.size(); ++i)
    partial = chunk::AddOp::create(b, b.getUnknownLoc(), sum.getType(), partial, terms[i]);
  sum.getXMutable().assign(partial);
  sum.getYMutable().assign(terms.back());
}

}  // namespace

void chain_sums(chunk::ProgramOp program) {
  Placement placement(program, 1, /*split=*/program.getBackward());
  llvm::SmallVector<chunk::AddOp> sums;
  for (auto sum : program.getBody().getOps<chunk::AddOp>())
    if (plain_sum(sum.getResult()) && !is_inner(sum)) sums.push_back(sum);
  for (chunk::AddOp sum : sums) rebuild(sum, placement);
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op)) op.erase();
}

}  // namespace wkvc
