#include "codegen/passes/chunk_to_warp/body/RoundedOperands.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/body/Calls.h"
#include "codegen/passes/chunk_to_warp/body/GradientUnit.h"
#include "codegen/passes/chunk_to_warp/body/Values.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

// The same tile in two terms, if it was stored so or is there: to add terms up and to part them again takes long.
static Value folded(Value x, Type type, Block* block) {
  auto widen = x.getDefiningOp<warp::CallOp>();
  if (widen && widen.getFunction() == "widen" && widen.getX().front().getType() == type) return widen.getX().front();
  for (Operation* user : x.getUsers())
    if (isa<warp::RoundOp>(user) && user->getResult(0).getType() == type && user->getBlock() == block &&
        !warp::has_scale(user->getResult(0)))
      return user->getResult(0);
  return {};
}

Value rounded(const BuildContext& c, Value x, Type element) {
  auto type = cast<warp::TileType>(x.getType()).clone(element);
  if (Value found = is_folded(element) ? folded(x, type, c.b.getInsertionBlock()) : Value()) return found;
  return c.create<warp::RoundOp>(type, x, Value(), Value(), Value(), false, false, false);
}

Value rounded_operand(Environment& env, chunk::RoundOp op) {
  const BuildContext& c = env.context;
  const StateInChunk& state = env.state;
  Value x = tile_of(env, op.getX()), scale;
  const bool as_is = c.placed.is_as_is(op);
  const bool in_scale = env.carried.has(x) && !as_is && !(state.sums && state.sums->brought.contains(op));
  warp::TileType type = env.site.type_of(op.getResult());
  if (auto other = state.sums ? state.sums->beside.lookup(op) : chunk::RoundOp())
    return c.create<warp::RoundBesideOp>(type, x, Value(), state.operand, env.scales.known(other));
  if (has_bound(op) && !in_scale && !as_is) scale = env.scales.of(op.getResult());
  if (in_scale) env.carried.add_rounded(x);
  if (!op.getBound() && !in_scale && !as_is) return rounded(c, x, chunk::element(op.getResult()));
  const bool fits = in_scale && state.sums;
  return c.create<warp::RoundOp>(type, x, scale, fits ? state.slope : Value(), fits ? state.offset : Value(),
                                 has_own_scale(op) && !as_is, in_scale, as_is);
}

Value brought_operand(Environment& env, Value operand) {
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  auto other = env.state.sums && round ? env.state.sums->brought.lookup(round) : chunk::RoundOp();
  if (!other) return {};
  if (Value found = env.registers.brought(operand)) return found;
  Value x = tile_of(env, operand), scale = x.getDefiningOp<warp::LoadOp>() ? env.scales.of(operand) : Value();
  Value found =
      env.context.create<warp::RoundBesideOp>(x.getType(), x, scale, env.state.operand, env.scales.known(other));
  return env.registers.brought(operand) = found;
}

Value widened_operand(Environment& env, Value operand) {
  const BuildContext& c = env.context;
  Value x = tile_of(env, operand);
  auto type = cast<warp::TileType>(x.getType());
  if (type.getElementType().isF32()) return x;
  auto wide = type.clone(c.b.getF32Type());
  if (has_unit(c, operand)) return c.create<warp::WidenOverOp>(wide, x, c.unit);
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  if (!round || !round.getBound()) return call(env, "widen", x, wide);
  // A tile that was rounded here, or whose scale lies beside it, carries it.
  const bool carried = !isa<warp::LoadOp>(x.getDefiningOp()) || has_own_scale(round);
  return c.create<warp::WidenOp>(wide, x, carried ? Value() : env.scales.of(operand));
}

void create_own_scales(Environment& env) {
  const BuildContext& c = env.context;
  env.site.begin_rows();
  llvm::DenseMap<std::pair<Value, Attribute>, Value> scales;
  for (auto round : c.program().getBody().getOps<chunk::RoundOp>()) {
    Value state = state_of_scale(round);
    if (!state || env.carried.has(env.state.before)) continue;
    Value& scale = scales[{state, round.getFactorAttr()}];
    if (!scale) {
      scale = c.create<warp::OwnScaleOp>(c.b.getF32Type(), tile_of(env, state), round.getFactorAttr());
      set_name(scale, (name_of(state) + "_scale").str());
    }
    env.scales.set(round, scale);
  }
}

}  // namespace wkvc
