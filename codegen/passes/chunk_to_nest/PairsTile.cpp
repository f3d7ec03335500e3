#include "codegen/passes/chunk_to_nest/PairsTile.h"

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_nest/Refusal.h"

using namespace mlir;

namespace wkvc {

static void add_rows(NestContext& context, const Pairs& pairs) {
  context.rows.add(pairs.sums);
  for (Value row : pairs.rows) context.rows.add(row);
}

void add_rows_of_pairs(NestContext& context) {
  for (auto lower : context.program.getBody().getOps<chunk::TrilOp>()) {
    const bool is_of_decays =
        llvm::all_of(lower->getUsers(), [](Operation* user) { return isa<chunk::CumsumOp>(user); });
    if (!is_of_decays) add_rows(context, pairs_of(lower.getResult()));
  }
}

Value pairs_tile(RoleBuilder& role, const Pairs& pairs, double times) {
  NestContext& context = role.context();
  const auto square = context.tile(context.chunk(), context.chunk(), context.b.getF32Type(), Layout::sums);
  const auto input_of = [&](Value operand) {
    if (carried_of(operand) != Carried::exact_operand)
      refuse_form(operand.getDefiningOp(), "pairs of tokens are products of inputs as they are");
    return role.get(context.channel_of(exact_input(operand).getResult()));
  };
  chunk::DotOp dot = pairs.products;
  Value x = input_of(dot.getX()), y = role.transposed(input_of(dot.getY()));
  Value products = role.product(x, y);
  set_name(products, derived_name_of(dot.getResult()));
  Value made = context.create<nest::DecayedPairsOp>(square, products, role.row(pairs.sums), /*unmasked=*/pairs.strict);
  for (Value row : pairs.rows)
    made = role.elementwise(nest::Function::multiply, {made, role.transposed(role.row(row))}, square);
  const double number = pairs.number * times;
  return number == 1 ? made : role.elementwise(nest::Function::multiply, {made, role.number(number)}, square);
}

}  // namespace wkvc
