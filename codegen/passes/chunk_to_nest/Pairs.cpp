#include "codegen/passes/chunk_to_nest/Pairs.h"

#include "codegen/passes/chunk_to_nest/Refusal.h"
#include "codegen/passes/chunk_to_nest/TokenRows.h"

using namespace mlir;

namespace wkvc {

// Returns the sums of log decays whose differences the exponents of all pairs are; null for other values.
static Value sums_of(Value decays) {
  auto power = decays.getDefiningOp<chunk::Exp2Op>();
  auto sums = power ? power.getX().getDefiningOp<chunk::CumsumOp>() : nullptr;
  auto lower = sums ? sums.getX().getDefiningOp<chunk::TrilOp>() : nullptr;
  auto spread = lower ? lower.getX().getDefiningOp<chunk::AddOp>() : nullptr;
  if (!spread) return {};
  for (Value logs : {spread.getX(), spread.getY()})
    for (Operation* user : logs.getUsers())
      if (auto of_tokens = dyn_cast<chunk::CumsumOp>(user);
          of_tokens && is_of_tokens(of_tokens.getResult()) && !of_tokens.getReverse() && !of_tokens.getExclusive())
        return of_tokens.getResult();
  return {};
}

// Adds what a product of a matrix and numbers has.
static void add_factors(Value value, Pairs& pairs) {
  if (auto dot = value.getDefiningOp<chunk::DotOp>()) {
    pairs.products = dot;
  } else if (auto product = value.getDefiningOp<chunk::MulOp>()) {
    add_factors(product.getX(), pairs);
    add_factors(product.getY(), pairs);
  } else if (auto number = constant_of(value)) {
    pairs.number *= *number;
  } else if (Value sums = sums_of(value); sums && !pairs.sums) {
    pairs.sums = sums;
  } else if (is_of_tokens(value)) {
    pairs.rows.push_back(value);
  } else {
    refuse_form(value.getDefiningOp(),
                "products of pairs of tokens are multiplied by one decay a token and by numbers alone");
  }
}

Pairs pairs_of(Value matrix) {
  auto lower = matrix.getDefiningOp<chunk::TrilOp>();
  if (!lower) internal_error("'{}' makes no pairs of tokens", matrix.getDefiningOp()->getName().getStringRef().str());
  Pairs pairs;
  pairs.strict = lower.getStrict();
  add_factors(lower.getX(), pairs);
  if (pairs.products && pairs.sums) return pairs;
  refuse_form(lower, "takes recurrences with one decay a token");
}

}  // namespace wkvc
