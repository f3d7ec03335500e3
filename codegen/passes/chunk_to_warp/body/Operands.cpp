#include "codegen/passes/chunk_to_warp/body/Operands.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/body/RoundedOperands.h"
#include "codegen/passes/chunk_to_warp/body/Values.h"
#include "codegen/passes/place/Slabs.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

// Whether a warp's matrix contracts the value's columns. Null if the operation is no contraction of the warp's.
static std::optional<bool> contracts_columns_on_warp(const Site& site, OpOperand& use) {
  auto dot = dyn_cast<chunk::DotOp>(use.getOwner());
  const ValuePlace& place = site.placement.of(use.getOwner());
  if (!dot || place.owner != Owner::matrix || place.warp != site.warp || place.phase != site.phase) return std::nullopt;
  return (use.getOperandNumber() == 0 ? dot.getXDim() : dot.getYDim()) == 1;
}

// Whether one warp contracts the value's columns in several of its matrices.
static bool is_read_again(const Environment& env, Value value) {
  // With scales there are no registers to spare. Of values over value columns a warp would load its own.
  if (env.site.owner != Owner::matrix || !env.context.program().getPlain()) return false;
  if (env.site.placement.space(value).columns == Axis::value) return false;
  int readers = 0;
  for (OpOperand& use : value.getUses()) {
    const auto over_columns = contracts_columns_on_warp(env.site, use);
    if (!over_columns) continue;
    if (!*over_columns) return false;
    ++readers;
  }
  return readers > 1;
}

static warp::TileType type_of_columns(const Site& site, Value value) {
  return warp::TileType::get({site.width(), chunk::rows(value)}, chunk::element(value), Layout::fragments);
}

Value columns_of_share(Environment& env, Value value) {
  Value& held = env.registers.held(value);
  if (held) return held;
  held = env.context.create<warp::LoadOp>(type_of_columns(env.site, value), env.tiles.of(value), env.site.column,
                                          /*own=*/false, /*transposed=*/true, /*own_rows=*/false);
  set_name(held, (name_of(value) + "_columns").str());
  return held;
}

// The columns of this warp's share, transposed: those that it holds, or of a value that it has made. Null if it has
// none.
static Value columns_in_registers(Environment& env, Value value) {
  const Placement& placement = env.site.placement;
  Value& held = env.registers.held(value);
  const bool is_made =
      in_shares(env.site.phase, placement) && env.registers.is_of_part(value) && !placement.is_shared(value);
  if (held || !is_made || placement.space(value).rows != Axis::token) return held;
  held = env.context.create<warp::TransposeOp>(type_of_columns(env.site, value), tile_of(env, value));
  set_name(held, (name_of(value) + "_columns").str());
  return held;
}

static ReadOperand shared_operand(const Environment& env, Value value) {
  return {env.tiles.of(value), env.scales.of(value), env.site.column_of(value)};
}

ReadOperand operand(Environment& env, Value value, bool contracts_columns) {
  const Site& site = env.site;
  if (Value x = site.owner == Owner::slab && !contracts_columns ? columns_in_registers(env, value) : Value())
    return {x, {}, {}};
  const Space& space = site.placement.space(value);
  const bool in_rows = site.placement.of(value).owner == Owner::rows || space.columns == Axis::value;
  if (is_read_again(env, value)) return {tile_of(env, value), {}, {}};
  if (site.owner != Owner::rows || !in_rows) return shared_operand(env, value);
  if (contracts_columns == site.lies_transposed(value) && space.rows == Axis::token)
    internal_error("'{}' is held in the wrong orientation", name_of(value).str());
  // A register tile carries its scale, unless it was loaded from beside it.
  if (Value x = brought_operand(env, value)) return {x, {}, {}};
  Value x = tile_of(env, value);
  return {x, isa_and_nonnull<warp::LoadOp>(x.getDefiningOp()) ? env.scales.of(value) : Value(), {}};
}

}  // namespace wkvc
