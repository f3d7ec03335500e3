#include "codegen/passes/chunk_to_warp/body/Elementwise.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/passes/chunk_to_warp/body/Calls.h"
#include "codegen/passes/chunk_to_warp/body/Contractions.h"
#include "codegen/passes/chunk_to_warp/body/Values.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

// A constant that is no tile's. Null if there is none.
static std::optional<float> number(Value x) {
  auto constant = x.getDefiningOp<chunk::ConstantOp>();
  if (!constant || constant.getDims()) return std::nullopt;
  return static_cast<float>(constant.getValue().convertToDouble());
}

// With one operand that is a number. Null if there is none.
static Value combined_with_number(Environment& env, Operation* op) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type type = env.site.type_of(op->getResult(0));
  const bool subtracts = isa<chunk::SubOp>(op);
  const char* function = isa<chunk::MulOp>(op) ? "mul_constant" : "add_constant";
  if (auto constant = number(y)) return call(env, function, tile_of(env, x), type, subtracts ? -*constant : *constant);
  auto constant = number(x);
  if (!constant) return {};
  Value rest = tile_of(env, y);
  if (subtracts) rest = call(env, "neg", rest, rest.getType());
  return call(env, function, rest, type, *constant);
}

Value combined(Environment& env, Operation* op, const char* function) {
  if (Value result = combined_with_number(env, op)) return result;
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (Value product = accumulated(env.site, op);
      product && !env.registers.has(product) && !env.context.placed.shared.find(product))
    return contracted(env, product.getDefiningOp<chunk::DotOp>(), tile_of(env, product == y ? x : y));
  // The tile comes first, a row or column it is combined with second.
  if (!isa<chunk::SubOp>(op) && chunk::rows(x) * chunk::columns(x) < chunk::rows(y) * chunk::columns(y))
    std::swap(x, y);
  Type type = env.site.type_of(op->getResult(0));
  Value a = tile_of(env, x), b = tile_of(env, y);
  // A row beside a column makes a tile.
  if (a.getType() != type && b.getType() != type)
    a = call(env, "add", {env.context.create<warp::ZerosOp>(type), a}, type);
  return call(env, function, {a, b}, type);
}

// By the functions of levels, which take half a level's tokens.
static Value of_level(Environment& env, Operation* op, int64_t half) {
  llvm::SmallVector<Value> x;
  for (Value v : op->getOperands()) x.push_back(tile_of(env, v));
  return call(env, op->getName().stripDialect(), x, env.site.type_of(op->getResult(0)), static_cast<float>(half));
}

Value by_function(Environment& env, Operation* op) {
  Value value = op->getResult(0);
  Type type = env.site.type_of(value);
  const bool tokens_in_columns =
      env.site.lies_transposed(value) || (env.site.owner == Owner::rows && env.site.is_column_vector(value));
  auto function = [&](llvm::StringRef name, std::optional<float> constant = {}) {
    return call(env, name, tile_of(env, op->getOperand(0)), type, constant);
  };
  auto level = [&](auto x) { return of_level(env, x, static_cast<int64_t>(x.getHalf())); };
  const bool of_values = op->getNumOperands() && env.site.lies_transposed(op->getOperand(0));
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](chunk::KeepValidOp) { return function(tokens_in_columns ? "keep_valid_columns" : "keep_valid"); })
      .Case([&](chunk::CumsumOp x) {
        return function(
            fmt::format("{}{}cumsum", x.getReverse() ? "reverse_" : "", x.getExclusive() ? "exclusive_" : ""));
      })
      .Case([&](chunk::RowOp x) {
        Value row = function("row", static_cast<float>(x.getIndex()));
        return x.getAnchor() && is_causal(env.context) ? call(env, "zero_if_nan", row, type) : row;
      })
      .Case([&](chunk::AtRowOp x) { return function("at_row", static_cast<float>(x.getIndex())); })
      // Value rows × tokens: the sum of all columns is one of the tile's rows, and the other way round.
      .Case([&](chunk::SumColumnsOp) { return function(of_values ? "sum_rows" : "sum_columns"); })
      .Case([&](chunk::SumRowsOp) { return function(of_values ? "sum_columns" : "sum_rows"); })
      .Case([&](chunk::DiagonalOp) { return function("diagonal_column"); })
      .Case([&](chunk::AtLeastOp x) { return function("maximum", x.getBound().convertToFloat()); })
      .Case([&](chunk::ExceedsOp x) { return function("greater_than", x.getBound().convertToFloat()); })
      .Case([&](chunk::NotBelowOp x) { return function("not_below", x.getBound().convertToFloat()); })
      .Case([&](chunk::TrilOp x) { return function(x.getStrict() ? "tril_strict" : "tril"); })
      .Case<chunk::LastOfOtherHalfOp, chunk::SumOfOtherHalfOp, chunk::SelectHalvesOp, chunk::LevelPairsOp,
            chunk::UpperRowsOp, chunk::LowerRowsOp>(level)
      .Default([&](Operation*) { return function(op->getName().stripDialect()); });
}

}  // namespace wkvc
