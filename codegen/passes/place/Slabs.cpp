#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

bool in_strips(int phase, const Placement& placement) {
  return placement.division().prepared == Prepared::strips && phase < placement.first_of_rows();
}

bool in_shares(int phase, const Placement& placement) {
  return placement.division().finished == Finished::shares && phase >= placement.first_after_rows();
}

int64_t extent_of(Axis axis, const Placement& placement) {
  chunk::ProgramOp program = placement.program();
  return static_cast<int64_t>(axis == Axis::key ? program.getKeyDim() : program.getValueDim());
}

Axis slab_axis(Operation* op, const Placement& placement) {
  return placement.of(op).columns == Columns::values ? Axis::value : Axis::key;
}

int64_t slab_width(int phase, Axis axis, const Placement& placement) {
  const bool by_warp = in_strips(phase, placement) || in_shares(phase, placement);
  return by_warp ? extent_of(axis, placement) / placement.division().warps : 16;
}

int64_t slab_count(Operation* op, const Placement& placement) {
  const Axis axis = slab_axis(op, placement);
  return extent_of(axis, placement) / slab_width(placement.of(op).phase, axis, placement);
}

bool is_transposed(Value x, Operation* user, const Placement& placement) {
  auto dot = dyn_cast<chunk::DotOp>(user);
  const ValuePlace& place = placement.of(user);
  if (!dot || is_source(x) || !in_shares(place.phase, placement) || placement.space(x).rows != Axis::token)
    return false;
  const bool over_tokens = dot.getX() == x ? dot.getXDim() == 0 : dot.getYDim() == 0;
  const ValuePlace& of_x = placement.of(x);
  return over_tokens && place.owner == Owner::slab && of_x.owner == Owner::slab && of_x.phase == place.phase;
}

}  // namespace wkvc
