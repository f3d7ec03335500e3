#include "codegen/passes/chunk_to_nest/Helpers.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/passes/chunk_to_nest/Pairs.h"

using namespace mlir;

namespace wkvc {

// Log2 decays below have forgotten everything: their sums over a chunk stay far from f32's limits.
constexpr double kLeastLog2 = -64;

Value inverse_of(chunk::ProgramOp program) {
  for (auto round : program.getBody().getOps<chunk::RoundOp>())
    if (round.getX().getDefiningOp<chunk::UnitLowerInverseOp>()) return round.getResult();
  return {};
}

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

// Returns products of pairs of tokens, times decays and numbers.
static Value pairs_tile(RoleBuilder& role, const Pairs& pairs, double times) {
  NestContext& context = role.context();
  const auto square = context.tile(context.chunk(), context.chunk(), context.b.getF32Type(), Layout::sums);
  const auto input_of = [&](Value operand) {
    if (carried_of(operand) != Carried::exact_operand)
      user_error_at(operand.getDefiningOp(),
                    "--form warpgroups: pairs of tokens are products of inputs as they are: use --form strips");
    auto widen = operand.getDefiningOp<chunk::RoundOp>().getX().getDefiningOp<chunk::WidenOp>();
    return role.get(context.channel_of(widen.getX()));
  };
  chunk::DotOp dot = pairs.products;
  Value x = input_of(dot.getX()), y = role.transposed(input_of(dot.getY()));
  Value started = context.create<nest::IssueOp>(nest::PendingType::get(context.b.getContext(), square), "wgmma.shared",
                                                x, y, Value(), Value());
  Value products = context.create<nest::AwaitOp>(square, started);
  set_name(products, derived_name_of(dot.getResult()));
  Value made = context.create<nest::DecayedPairsOp>(square, products, role.row(pairs.sums), /*unmasked=*/pairs.strict);
  for (Value row : pairs.rows)
    made = role.elementwise(nest::Function::multiply, {made, role.transposed(role.row(row))}, square);
  const double number = pairs.number * times;
  return number == 1 ? made : role.elementwise(nest::Function::multiply, {made, role.number(number)}, square);
}

namespace {

// Numbers of tokens in registers, from those of the inputs.
class TokenNumbers {
 public:
  TokenNumbers(RoleBuilder& role, nest::TileType type) : role_(role), type_(type) {}

  void set(Value input, Value tile) { tiles_[input] = tile; }

  Value tile_of(Value number) {
    Value key = without_ends(number);
    Value& tile = tiles_[key];
    if (!tile) {
      tile = make(key);
      set_name(tile, derived_name_of(key));
    }
    return tile;
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
          user_error_at(op,
                        "--form warpgroups: numbers of tokens are products, sums and powers, not '{}': use --form "
                        "strips",
                        op->getName().stripDialect().str());
        });
  }

  // Sums up to each token, or of the tokens behind each one: what is left of the last sum.
  Value sums(chunk::CumsumOp op) {
    if (op.getReverse() != op.getExclusive()) internal_error("sums of tokens go up to each one, or begin behind it");
    Value& upto = upto_[op.getX()];
    if (!upto) {
      Value bounded = role_.elementwise(nest::Function::maximum, {tile_of(op.getX()), role_.number(kLeastLog2)}, type_);
      upto = role_.context().create<nest::CumsumOp>(type_, bounded);
    }
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
      Value made = pairs_tile(role, pairs_of(value.getDefiningOp<chunk::RoundOp>().getX()), 1);
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

namespace {

// Makes (I + L)⁻¹ for a strictly lower triangular L of 64x64: D, the inverses of its blocks of 16, by substitution, and
// all else by three products. With Z = (I + L₁₆)⁻¹ of the blocks of 32, and L₃₂ the quarter below: (I + L)⁻¹ = Z − Z
// L₃₂ Z.
class Inverse {
 public:
  explicit Inverse(RoleBuilder& role) : role_(role), context_(role.context()) {}

  Value of(Value lower);

 private:
  nest::TileType square(Type element, Layout layout) const { return context_.tile(kExtent, kExtent, element, layout); }
  Value channel(const char* name, Value over = {}) {
    return add_channel(context_, name, square(role_.b().getF16Type(), Layout::swizzled), 1, over);
  }
  Value rounded(Value tile) { return role_.converted(tile, role_.b().getF16Type(), Layout::operand); }
  Value level(Value tile, int64_t rows, bool without) {
    return context_.create<nest::LevelOp>(tile.getType(), static_cast<uint64_t>(rows), without, tile);
  }
  Value minus(Value tile) {
    return role_.elementwise(nest::Function::multiply, {tile, role_.number(-1)}, cast<nest::TileType>(tile.getType()));
  }
  // Blocks of 16x16 with a number on their diagonals.
  Value diagonal(double number) {
    return rounded(context_.create<nest::DiagonalOp>(
        context_.tile(kExtent, kBlock, role_.b().getF32Type(), Layout::operand), role_.number(number)));
  }
  Value with_blocks(Value blocks, Value into, bool of_level = false) {
    return context_.create<nest::SetBlocksOp>(square(role_.b().getF16Type(), Layout::operand), of_level, blocks, into);
  }
  Value put_and_get(Value tile, Value channel) {
    context_.create<nest::PutOp>(tile, channel);
    return role_.get(channel);
  }
  Value product(Value x, Value y) {
    const auto sums = square(role_.b().getF32Type(), Layout::sums);
    Value started = context_.create<nest::IssueOp>(nest::PendingType::get(role_.b().getContext(), sums), "wgmma.shared",
                                                   x, y, Value(), Value());
    return context_.create<nest::AwaitOp>(sums, started);
  }

  static constexpr int64_t kExtent = 64, kBlock = 16;

  RoleBuilder& role_;
  NestContext& context_;
};

Value Inverse::of(Value lower) {
  Value of_factor = channel("factor"), of_diagonal = channel("diagonal"), of_halves = channel("halves");
  Value of_right = channel("right", of_diagonal);
  const auto blocks = context_.tile(kExtent, kBlock, role_.b().getF16Type(), Layout::operand);
  Value below = rounded(level(lower, 32, /*without=*/false));
  auto solved = context_.create<nest::SolveDiagonalOp>(TypeRange{blocks, blocks}, lower, IntegerAttr());
  context_.create<nest::PutOp>(with_blocks(solved.getResult(0), {}), of_diagonal);
  // −I + D L₁₆ + L₃₂, each where it lies
  Value factor = with_blocks(diagonal(-1), with_blocks(solved.getResult(1), below, /*of_level=*/true));
  context_.create<nest::PutOp>(factor, of_factor);
  Value inverses = role_.get(of_diagonal), left = role_.get(of_factor);
  Value halves = minus(level(product(left, inverses), 32, /*without=*/true));
  Value right_half = put_and_get(rounded(halves), of_halves);
  Value quarter = minus(level(product(left, right_half), 32, /*without=*/false));
  Value right = put_and_get(with_blocks(diagonal(1), rounded(quarter)), of_right);
  return rounded(product(right_half, right));
}

}  // namespace

void build_write_role(NestContext& context, int64_t registers) {
  Value value = inverse_of(context.program);
  auto inverse = value.getDefiningOp<chunk::RoundOp>().getX().getDefiningOp<chunk::UnitLowerInverseOp>();
  RoleBuilder role(context, "write", /*copies=*/1, registers);
  role.begin_sweep();
  Value lower = pairs_tile(role, pairs_of(inverse.getX()), -1);  // the inverse of I − x is that of I + (−x)
  set_name(lower, "L");
  context.create<nest::PutOp>(Inverse(role).of(lower), context.channel_of(value));
  role.end_sweep();
}

}  // namespace wkvc
