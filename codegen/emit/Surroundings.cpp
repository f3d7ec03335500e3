#include "codegen/emit/Surroundings.h"

using namespace mlir;

namespace wkvc {

static bool is_in_sweep_over(Operation* op, warp::Over over) {
  for (auto sweep = op->getParentOfType<warp::SweepOp>(); sweep; sweep = sweep->getParentOfType<warp::SweepOp>())
    if (sweep.getOver() == over) return true;
  return false;
}

bool is_in_groups(Operation* op) { return is_in_sweep_over(op, warp::Over::groups); }

bool is_in_rounds(Operation* op) { return is_in_sweep_over(op, warp::Over::rounds); }

warp::SweepOp loop_around(Operation* op) {
  auto sweep = op->getParentOfType<warp::SweepOp>();
  if (!sweep || sweep.getOver() == warp::Over::groups || sweep.getOver() == warp::Over::rounds) return {};
  return sweep;
}

const char* warps_of(Operation* op) { return op->getParentOfType<warp::TeamOp>() ? "team" : "block"; }

}  // namespace wkvc
