#include "codegen/passes/chunk_to_warp/body/Contractions.h"

#include "codegen/chunk/Names.h"
#include "codegen/passes/chunk_to_warp/body/Operands.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

namespace {

// A side of a contraction, with the half of its tile that is zero.
struct Side {
  ReadOperand operand;
  bool transposed = false;
  warp::TriangleAttr triangle;
};

}  // namespace

bool is_causal(const BuildContext& c) {
  chunk::ProgramOp program = c.program();
  return program.getCompute() == "f32" || (!program.getPlain() && c.plan.cluster == 1);
}

// The triangle of an operand as it is contracted, its rows being those of the result.
static warp::TriangleAttr triangle_of(Environment& env, Value operand, int64_t dim) {
  if (!is_causal(env.context)) return {};
  Triangle triangle = env.triangles.of(operand);
  if (dim == 0) triangle = triangle.transposed();
  if (triangle.lower == triangle.upper) return {};
  return warp::TriangleAttr::get(env.context.b.getContext(),
                                 triangle.lower ? warp::Triangle::lower : warp::Triangle::upper);
}

// Returns the operands' names as the contraction's equation has them; null where one has no name.
static ArrayAttr factors_of(chunk::DotOp op) {
  std::string x = exact_name_of(op.getX()), y = exact_name_of(op.getY());
  if (x.empty() || y.empty()) return {};
  if (op.getXDim() == 0) x += "^T";
  if (op.getYDim() == 1) y += "^T";
  return Builder(op.getContext()).getStrArrayAttr({x, y});
}

static Side side_of(Environment& env, Value value, int64_t dim) {
  Side side{operand(env, value, dim == 1), false, triangle_of(env, value, dim)};
  side.transposed = side.operand.is_shared() && dim == 0;
  return side;
}

Value contracted(Environment& env, chunk::DotOp op, Value accumulator) {
  const BuildContext& c = env.context;
  Side x = side_of(env, op.getX(), static_cast<int64_t>(op.getXDim()));
  Side y = side_of(env, op.getY(), static_cast<int64_t>(op.getYDim()));
  if (x.triangle) y.triangle = {};  // where both have one, the first is taken
  if (!accumulator) accumulator = c.create<warp::ZerosOp>(env.site.type_of(op.getResult()));
  if (env.site.lies_transposed(op.getResult())) std::swap(x, y);
  auto rounded = x.operand.tile.getDefiningOp<warp::RoundOp>();
  const bool as_it_is = c.placed.is_product(op), on_sum = env.carried.has(accumulator);
  const bool in_scale = !as_it_is && env.carried.is_rounded(accumulator) && rounded && warp::has_scale(rounded);
  Value sum =
      c.create<warp::MmaOp>(accumulator.getType(), accumulator, x.operand.tile, y.operand.tile, x.operand.scale,
                            y.operand.scale, y.operand.column, x.transposed, y.transposed, in_scale, as_it_is && on_sum,
                            as_it_is && !on_sum, warp::Family::mma_sync, x.triangle, y.triangle, factors_of(op));
  if (on_sum || as_it_is) env.carried.add(sum);
  if (in_scale) env.carried.add_rounded(sum);
  return sum;
}

Value column_dots(Environment& env, chunk::ColumnDotsOp op) {
  const BuildContext& c = env.context;
  Value x = op.getX(), y = op.getY();
  Type type = env.site.type_of(op.getResult());
  if (!in_shares(env.site.phase, env.site.placement))
    return c.create<warp::ColumnDotsOp>(type, env.tiles.of(x), env.tiles.of(y), env.scales.of(x), env.scales.of(y),
                                        env.site.column, Value());
  Value y_columns = columns_of_share(env, y), x_columns = columns_of_share(env, x);
  return c.create<warp::ColumnDotsOp>(type, x_columns, y_columns, Value(), Value(), Value(), Value());
}

Value accumulated(const Site& site, Operation* sum) {
  if (!isa<chunk::AddOp>(sum)) return {};
  const Placement& placement = site.placement;
  const int phase = placement.of(sum).phase;
  for (int i : {1, 0}) {
    Value x = sum->getOperand(i), other = sum->getOperand(1 - i);
    if (!x.getDefiningOp<chunk::DotOp>() || !x.hasOneUse() || placement.of(x).phase != phase) continue;
    if (other.getDefiningOp<chunk::ConstantOp>() || site.type_of(other) != site.type_of(x)) continue;
    if (i == 1 || is_source(other) || placement.of(other).phase < phase) return x;
  }
  return {};
}

}  // namespace wkvc
