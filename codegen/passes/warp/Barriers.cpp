#include "codegen/passes/warp/Barriers.h"

#include <mlir/IR/Builders.h>

#include "codegen/warp/verify/Races.h"

using namespace mlir;

namespace wkvc {

static void meet_at(warp::PhaseOp phase) {
  OpBuilder b(phase);
  warp::BarrierOp::create(b, phase.getLoc());
  phase.erase();
}

// Each barrier is as late as may be. So one barrier does for several races.
void place_barriers(warp::KernelOp kernel) {
  for (auto race = warp::first_race(kernel); race && race->phase; race = warp::first_race(kernel)) meet_at(race->phase);
  kernel.walk([](warp::PhaseOp phase) { phase.erase(); });
}

}  // namespace wkvc
