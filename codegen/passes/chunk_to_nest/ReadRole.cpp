#include "codegen/passes/chunk_to_nest/ReadRole.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_nest/PairsTile.h"
#include "codegen/passes/chunk_to_nest/Refusal.h"

using namespace mlir;

namespace wkvc {

// Log2 decays below have forgotten everything: their sums over a chunk stay far from f32's limits.
constexpr double kLeastLog2 = -64;

namespace {

// Numbers of tokens in registers, from those of the inputs.
class TokenNumbers {
 public:
  TokenNumbers(RoleBuilder& role, nest::TileType type) : role_(role), type_(type) {}

  void set(Value input, Value tile) { tiles_[input] = tile; }

  Value tile_of(Value number) {
    Value key = without_ends(number);
    if (!tiles_.contains(key)) {
      Value made = make(key);  // which makes others
      set_name(made, derived_name_of(key));
      tiles_[key] = made;
    }
    return tiles_.lookup(key);
  }

 private:
  Value make(Value number) {
    if (auto constant = constant_of(number)) return role_.number(*constant);
    return llvm::TypeSwitch<Operation*, Value>(number.getDefiningOp())
        .Case([&](chunk::MulOp op) {
          return role_.elementwise(nest::Function::multiply, {tile_of(op.getX()), tile_of(op.getY())}, type_);
        })
        .Case([&](chunk::Exp2Op op) { return role_.elementwise(nest::Function::exp2, tile_of(op.getX()), type_); })
        .Case([&](chunk::CumsumOp op) { return sums(op); })
        .Default([](Operation* op) -> Value {
          refuse_form(op, "numbers of tokens are products, sums and powers, not '{}'",
                      op->getName().stripDialect().str());
        });
  }

  // Sums up to each token, or of the tokens behind each one: what is left of the last sum.
  Value sums(chunk::CumsumOp op) {
    if (op.getReverse() != op.getExclusive()) internal_error("sums of tokens go up to each one, or begin behind it");
    if (!upto_.contains(op.getX())) {
      Value bounded = role_.elementwise(nest::Function::maximum, {tile_of(op.getX()), role_.number(kLeastLog2)}, type_);
      upto_[op.getX()] = role_.context().create<nest::CumsumOp>(type_, bounded);
    }
    Value upto = upto_.lookup(op.getX());
    if (!op.getReverse()) return upto;
    Value last =
        role_.context().create<nest::ElementOp>(role_.context().tile(1, 1, role_.b().getF32Type(), Layout::fragments),
                                                upto, static_cast<uint64_t>(type_.getColumns() - 1));
    return role_.elementwise(nest::Function::subtract, {last, upto}, type_);
  }

  RoleBuilder& role_;
  nest::TileType type_;
  llvm::DenseMap<Value, Value> tiles_, upto_;
};

SmallVector<chunk::InputOp> inputs_of_tokens(chunk::ProgramOp program) {
  SmallVector<chunk::InputOp> inputs;
  for (auto input : program.getBody().getOps<chunk::InputOp>())
    if (is_of_tokens(input.getResult())) inputs.push_back(input);
  return inputs;
}

Value load_numbers(NestContext& context, chunk::InputOp input, nest::TileType type, uint64_t ahead) {
  Value numbers = context.create<nest::TokensOp>(type, input.getSym(), ahead);
  set_name(numbers, (input.getSym() + (ahead == 0 ? "0" : "_next")).str());
  return numbers;
}

// Copies the chunks of inputs into their channels, a chunk ahead.
void load_inputs(NestContext& context) {
  for (auto [value, channel] : context.channels)
    if (auto input = value.getDefiningOp<chunk::InputOp>())
      context.create<nest::LoadOp>(input.getSym(), /*ahead=*/uint64_t{1}, channel);
}

void put_numbers(RoleBuilder& role, TokenNumbers& numbers) {
  NestContext& context = role.context();
  SmallVector<Value> rows;
  for (Value value : context.rows.values()) rows.push_back(numbers.tile_of(value));
  const auto stack =
      context.tile(static_cast<int64_t>(rows.size()), context.chunk(), role.b().getF32Type(), Layout::tokens);
  context.create<nest::PutOp>(context.create<nest::StackOp>(stack, rows).getResult(), context.numbers);
}

// Puts products of pairs, and operands in the place of inputs.
void put_operands(RoleBuilder& role) {
  NestContext& context = role.context();
  const Type f16 = role.b().getF16Type();
  for (auto [value, channel] : context.channels)
    if (value.getDefiningOp<chunk::RoundOp>() && carried_of(value) == Carried::pairs) {
      const Pairs pairs = pairs_of(value.getDefiningOp<chunk::RoundOp>().getX());
      if (pairs.strict) refuse_form(value.getDefiningOp(), "a token's output reads the token");
      Value made = pairs_tile(role, pairs, 1);
      context.create<nest::PutOp>(role.converted(made, f16, Layout::operand), channel);
    }
  for (auto [value, channel] : context.channels) {
    Value over = channel.getDefiningOp<nest::ChannelOp>().getOver();
    if (over) context.create<nest::PutOp>(role.converted(role.get(over), f16, Layout::operand), channel);
  }
}

}  // namespace

void build_read_role(NestContext& context, int64_t registers) {
  RoleBuilder role(context, "read", /*copies=*/1, registers);
  const auto type = context.tile(1, context.chunk(), context.b.getF32Type(), Layout::tokens);
  auto inputs = inputs_of_tokens(context.program);
  SmallVector<Value> first, next;
  for (chunk::InputOp input : inputs) first.push_back(load_numbers(context, input, type, 0));
  TokenNumbers numbers(role, type);
  const ValueRange carried = role.begin_sweep(first);
  for (auto [input, tile] : llvm::zip_equal(inputs, carried)) {
    set_name(tile, input.getSym());
    numbers.set(input.getResult(), tile);
  }
  load_inputs(context);
  put_numbers(role, numbers);
  for (chunk::InputOp input : inputs) next.push_back(load_numbers(context, input, type, 1));
  put_operands(role);
  role.end_sweep(next);
}

}  // namespace wkvc
