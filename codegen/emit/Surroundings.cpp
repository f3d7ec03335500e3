#include "codegen/emit/Surroundings.h"

using namespace mlir;

namespace wkvc {

static bool is_over_groups(warp::SweepOp sweep) { return sweep.getOver() == warp::Over::groups; }
static bool is_over_rounds(warp::SweepOp sweep) { return sweep.isOverRounds(); }

static bool is_in(Operation* op, bool (*is_such)(warp::SweepOp)) {
  for (auto sweep = op->getParentOfType<warp::SweepOp>(); sweep; sweep = sweep->getParentOfType<warp::SweepOp>())
    if (is_such(sweep)) return true;
  return false;
}

bool is_in_groups(Operation* op) { return is_in(op, is_over_groups); }

bool is_in_rounds(Operation* op) { return is_in(op, is_over_rounds); }

warp::SweepOp loop_around(Operation* op) {
  auto sweep = op->getParentOfType<warp::SweepOp>();
  if (!sweep || is_over_groups(sweep) || is_over_rounds(sweep)) return {};
  return sweep;
}

const char* warps_of(Operation* op) { return op->getParentOfType<warp::TeamOp>() ? "team" : "block"; }

}  // namespace wkvc
