#include "codegen/passes/chunk_to_warp/body/Loads.h"

#include "codegen/ir/Where.h"
#include "codegen/passes/chunk_to_warp/body/GradientUnit.h"

using namespace mlir;

namespace wkvc {

static Value filled(const BuildContext& c, chunk::ConstantOp op, warp::TileType type) {
  if (!op.getDims())
    user_error_at(op, "'{}': a number alone can't be an operand here; compute it beforehand",
                  c.program().getRecurrence().str());
  Value zeros = c.create<warp::ZerosOp>(type);
  if (op.getValue().isZero()) return zeros;
  const auto number = static_cast<float>(op.getValue().convertToDouble());
  return c.create<warp::CallOp>(type, "add_constant", zeros, c.b.getF32FloatAttr(number));
}

// From slots of floats: a sum's parts are added up.
static Value loaded_vector(const Environment& env, Value value, Value shared, warp::TileType type) {
  const BuildContext& c = env.context;
  const int64_t parts =
      cast<warp::TileType>(shared.getType()).getDimSize(0) / (chunk::rows(value) * chunk::columns(value));
  return c.create<warp::LoadVectorOp>(type, shared, env.site.column_of(value),
                                      env.site.is_partial(value) ? c.b.getI64IntegerAttr(parts) : IntegerAttr(),
                                      warp::ChunkOfRoundAttr());
}

static Value loaded_tile(const Environment& env, Value value, Value shared, warp::TileType type) {
  const Site& site = env.site;
  const Space& space = site.placement.space(value);
  const bool own = !site.is_along_slab(value) && space.columns == Axis::value;
  const bool own_rows = site.owner == Owner::rows && space.rows == Axis::value;
  Value x =
      env.context.create<warp::LoadOp>(type, shared, site.column_of(value), own, site.lies_transposed(value), own_rows);
  return chunk::element(value).isF32() ? over_unit(env.context, value, x) : x;
}

Value loaded(const Environment& env, Value value) {
  const BuildContext& c = env.context;
  warp::TileType type = env.site.type_of(value);
  auto f32 = type.clone(c.b.getF32Type());
  if (auto parameter = value.getDefiningOp<chunk::ParameterOp>())
    return c.create<warp::ParameterOp>(f32, parameter.getSym(), env.site.column_of(value), type.getElementType());
  if (auto input = value.getDefiningOp<chunk::InputOp>(); input && chunk::columns(value) == 1)
    return over_unit(c, value, c.create<warp::TokensOp>(f32, input.getSym(), type.getElementType()));
  if (auto constant = value.getDefiningOp<chunk::ConstantOp>()) return filled(c, constant, f32);
  Value shared = env.tiles.of(value);
  return cast<warp::TileType>(shared.getType()).getRank() == 1 ? loaded_vector(env, value, shared, f32)
                                                               : loaded_tile(env, value, shared, type);
}

}  // namespace wkvc
