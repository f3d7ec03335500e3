#include "codegen/passes/chunk_to_warp/KernelContext.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"

using namespace mlir;

namespace wkvc {

KernelContext::KernelContext(chunk::ProgramOp of, const KernelMemory& in, const Plan& by, OpBuilder& builder)
    : program(of), memory(in), plan(by), b(builder), saved(saved_type(of)) {
  main.emplace(memory.main(), b, plan, saved);
  if (memory.again()) again.emplace(*memory.again(), b, plan, saved);
  if (placed().shared.ring_plan().goes_again()) again->buffers().share_rings(main->buffers());
  if (keeps_states()) main->states().load_from(kRecomputed, groups_ahead() ? kSavedStates : "");
}

bool KernelContext::groups_ahead() const {
  return chunk::ProgramOp(program).getSchedule().memory.prefetch == Ahead::groups;
}

bool KernelContext::keeps_states() const {
  return again && !plan.by_teams() && (!groups_ahead() || chunk::ProgramOp(program).getSavedEvery() > 2);
}

warp::TileType KernelContext::tile() const {
  return warp::TileType::get({16, static_cast<int64_t>(chunk::ProgramOp(program).getKeyDim())}, b.getF32Type(),
                             Layout::fragments);
}

llvm::StringRef KernelContext::carried() const {
  return name_of(*chunk::ProgramOp(program).getBody().getOps<chunk::StateOp>().begin());
}

void KernelContext::set_unit(Value of_gradients) {
  unit = of_gradients;
  main->set_unit(unit);
}

std::pair<warp::SweepOp, Value> KernelContext::begin_loop(Value initial, warp::Over over, bool reverse,
                                                          llvm::StringRef name, bool beside) const {
  auto loop = create<warp::SweepOp>(initial.getType(), over, reverse,
                                    /*ahead=*/over == warp::Over::groups && groups_ahead(), beside, initial);
  Block& body = loop.getBody().emplaceBlock();
  b.setInsertionPointToEnd(&body);
  Value state = body.addArgument(tile(), chunk::ProgramOp(program).getLoc());
  set_name(state, name);
  return {loop, state};
}

}  // namespace wkvc
