#include "codegen/passes/chunk_to_nest/WriteRole.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_nest/PairsTile.h"

using namespace mlir;

namespace wkvc {

Value inverse_of(chunk::ProgramOp program) {
  for (auto round : program.getBody().getOps<chunk::RoundOp>())
    if (round.getX().getDefiningOp<chunk::UnitLowerInverseOp>()) return round.getResult();
  return {};
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
  Value halves = minus(level(role_.product(left, inverses), 32, /*without=*/true));
  Value right_half = put_and_get(rounded(halves), of_halves);
  Value quarter = minus(level(role_.product(left, right_half), 32, /*without=*/false));
  Value right = put_and_get(with_blocks(diagonal(1), rounded(quarter)), of_right);
  return rounded(role_.product(right_half, right));
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
