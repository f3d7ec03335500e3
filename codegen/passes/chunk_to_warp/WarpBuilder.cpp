// All phases of a chunk, by one team.
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk_to_warp/body/Regions.h"
#include "codegen/passes/chunk_to_warp/body/RoundedOperands.h"
#include "codegen/passes/chunk_to_warp/body/TakenState.h"

using namespace mlir;

namespace wkvc {

WarpBuilder::WarpBuilder(const PlacedProgram& of, OpBuilder& builder, const Plan& plan, Type saved)
    : program_(of.program),
      placement_(of.placement),
      buffers_(of, builder),
      context_{of, plan, builder, buffers_},
      states_(context_, saved),
      copies_(context_, states_),
      env_(context_, states_) {}

void WarpBuilder::set_state(Value tile, bool with_scale) {
  env_.state.before = tile;
  if (with_scale) env_.carried.add(tile);
}

void WarpBuilder::begin_inputs(llvm::function_ref<bool(Operation*)> readers) {
  env_.registers.begin_chunk();
  env_.tiles.begin(readers);
}

void WarpBuilder::begin_chunk() {
  begin_inputs(any_reader);
  env_.tiles.publish([](auto&) { return true; });
  create<warp::BarrierOp>(refuses_early(program_));  // copies of the group before, too, have come
  if (!copies_.deep_phase()) copies_.start_later(Free::at_once);
  env_.scales.create(/*of_states=*/false, any_reader);
  create_own_scales(env_);
}

void WarpBuilder::phase(int number) {
  env_.site.phase = number;
  if (number) create<warp::BarrierOp>();
  if (number == 1) {
    copies_.start_later(Free::behind_first);
    env_.scales.create(/*of_states=*/true, any_reader);
  }
  build_slabs(env_);
  build_matrices(env_);
  if (number == copies_.deep_phase()) copies_.start_later(Free::at_once);
  build_rows(env_, placement_.ops_of(Owner::rows, number));
  if (number == 0) {
    publish_state(env_, /*saved=*/true);
    publish_state(env_, /*saved=*/false);
  }
}

void WarpBuilder::end_chunk() {
  if (!copies_.has(Free::behind_last)) return;
  create<warp::BarrierOp>();
  copies_.start_later(Free::behind_last);
}

void WarpBuilder::go_through_chunk() {
  begin_chunk();
  for (int number = 0; number < placement_.phases(); ++number) phase(number);
  end_chunk();
}

}  // namespace wkvc
