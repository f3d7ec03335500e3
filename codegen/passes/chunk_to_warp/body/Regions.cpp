#include "codegen/passes/chunk_to_warp/body/Regions.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/body/Loads.h"
#include "codegen/passes/chunk_to_warp/body/Operands.h"
#include "codegen/passes/chunk_to_warp/body/Values.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

Value begin_slab(const BuildContext& c, warp::SlabsOp loop) {
  Block& block = loop.getBody().emplaceBlock();
  Value column = block.addArgument(c.b.getIndexType(), c.program().getLoc());
  set_name(column, "column");
  c.b.setInsertionPointToEnd(&block);
  return column;
}

void begin_share(Environment& env) {
  const BuildContext& c = env.context;
  const Placement& placement = env.site.placement;
  env.site.begin_slab(Axis::key);
  env.site.column = c.create<warp::ShareOp>(env.site.width());
  set_name(env.site.column, "column");
  env.registers.begin_share();
  for (auto& [value, buffer] : c.placed.shared.values())
    if (is_held(value, placement)) columns_of_share(env, value);
  for (auto& [value, ring] : c.placed.shared.rings())
    if (is_held(value, placement)) env.registers.held(value) = loaded(env, value);
}

static void build_slabs_along(Environment& env, const std::vector<Operation*>& ops, Axis axis) {
  if (ops.empty()) return;
  const BuildContext& c = env.context;
  const Placement& placement = env.site.placement;
  env.site.begin_slab(axis);
  env.registers.begin_part();
  if (in_shares(env.site.phase, placement)) return compute_all(env, ops);
  auto strip = in_strips(env.site.phase, placement) ? c.b.getI64IntegerAttr(env.site.width()) : IntegerAttr();
  auto loop = c.create<warp::SlabsOp>(c.b.getI64IntegerAttr(extent_of(axis, placement)), strip);
  OpBuilder::InsertionGuard guard(c.b);
  env.site.column = begin_slab(c, loop);
  compute_all(env, ops);
}

void build_slabs(Environment& env) {
  const Placement& placement = env.site.placement;
  const auto ops = placement.ops_of(Owner::slab, env.site.phase);
  for (Axis axis : {Axis::key, Axis::value}) {
    auto along = ops;
    llvm::erase_if(along, [&](Operation* op) { return slab_axis(op, placement) != axis; });
    build_slabs_along(env, along, axis);
  }
}

static void build_matrices_of(Environment& env, const std::vector<Operation*>& ops, int warp) {
  if (ops.empty()) return;
  const BuildContext& c = env.context;
  auto on = c.create<warp::OnWarpOp>(warp);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToEnd(&on.getBody().emplaceBlock());
  env.site.begin_matrix(warp);
  env.registers.begin_part();
  compute_all(env, ops);
}

void build_matrices(Environment& env) {
  const Placement& placement = env.site.placement;
  const auto ops = placement.ops_of(Owner::matrix, env.site.phase);
  for (int warp = 0; warp < env.context.plan.team_warps; ++warp) {
    auto own = ops;
    llvm::erase_if(own, [&](Operation* op) { return placement.of(op).warp != warp; });
    build_matrices_of(env, own, warp);
  }
}

void build_rows(Environment& env, const std::vector<Operation*>& ops) {
  env.site.begin_rows();
  env.registers.begin_part();
  compute_all(env, ops);
}

}  // namespace wkvc
