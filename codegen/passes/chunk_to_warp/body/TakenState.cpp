#include "codegen/passes/chunk_to_warp/body/TakenState.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/StateTraits.h"
#include "codegen/passes/chunk_to_warp/body/Values.h"

using namespace mlir;

namespace wkvc {

// A state that is taken through a round lies in shared memory only later, where others than its rows read it.
void publish_state(Environment& env, bool saved) {
  const BuildContext& c = env.context;
  env.site.begin_rows();
  if (!has_maximum(c.placed, saved)) return;
  Operation* state = state_of(c.program(), saved);
  Value x = c.plan.by_teams() ? env.state.before : tile_of(env, state->getResult(0));
  c.create<warp::PublishMaxOp>(x, c.buffers.maximum(chunk::symbol(state)));
}

// The state in a scale that all warps share.
static void fit_to_block(Environment& env) {
  const BuildContext& c = env.context;
  Value state = env.state.sums->state->getResult(0), maxima = c.buffers.maximum(chunk::symbol(env.state.sums->state));
  std::string name = (name_of(state) + "_fitting").str();
  env.state.before = c.create<warp::FitScaleOp>(env.state.before, maxima, env.state.slope, env.state.offset);
  set_name(env.state.before, name);
  env.carried.add(env.state.before);
  env.registers.keep(state, Owner::rows, env.state.before);
}

void round_state(Environment& env) {
  if (env.state.sums->of_block) fit_to_block(env);
  for (chunk::RoundOp round : env.state.sums->roundings) {
    compute(env, round);
    env.state.operand = env.registers.find(round.getResult(), Owner::rows);
  }
}

}  // namespace wkvc
