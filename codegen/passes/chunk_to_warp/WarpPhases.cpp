// The phases of a chunk that a team prepares and finishes, and the state between them.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk_to_warp/StateTraits.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"
#include "codegen/passes/chunk_to_warp/body/GradientUnit.h"
#include "codegen/passes/chunk_to_warp/body/LeftNumbers.h"
#include "codegen/passes/chunk_to_warp/body/Loads.h"
#include "codegen/passes/chunk_to_warp/body/Regions.h"
#include "codegen/passes/chunk_to_warp/body/RoundedOperands.h"
#include "codegen/passes/chunk_to_warp/body/TakenState.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

void WarpBuilder::prepare_round(llvm::function_ref<void()> when_read) {
  load_tokens();
  if (context_.plan.goes_ahead()) copies_.start_round();
  wait_for_round();
  prepare_chunk(when_read);
  env_.registers.drop_tokens();
}

void WarpBuilder::load_tokens() {
  env_.site.begin_matrix(env_.site.warp);
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    if (chunk::columns(input.getResult()) != 1 || has_unit(context_, input)) continue;
    Value x = loaded(env_, input);
    set_name(x, input.getSym());
    env_.registers.keep_tokens(input, x);
  }
}

// Late copies of the last round may still be under way.
void WarpBuilder::wait_for_round() {
  create<warp::WaitCopiesOp>(copies_.has(Copied::early) && copies_.has(Copied::late) ? 1 : 0);
}

void WarpBuilder::prepare_chunk(llvm::function_ref<void()> when_read) {
  auto prepares = [&](Operation* op) { return placement_.of(op).owner != Owner::rows; };
  const bool early = copies_.has(Copied::early);
  auto copy_early = [&] { copies_.start_ahead(Copied::early, context_.plan.round_chunks()); };
  if (!when_read && early) when_read = copy_early;
  begin_inputs(any_reader);
  env_.tiles.publish([&](auto& ring) { return (ring.copied == Copied::early) == early; });
  create<warp::BarrierOp>();
  env_.scales.create(/*of_states=*/false, prepares);
  prepare_phases(when_read);
  if (early && copies_.has(Copied::late)) publish_late_inputs();
  store_numbers(context_, env_.scales);
}

void WarpBuilder::prepare_phases(llvm::function_ref<void()> when_read) {
  const bool has_second = context_.placed.has_second_phase();
  int& phase = env_.site.phase;
  for (phase = 0; phase < placement_.first_of_rows(); ++phase) {
    if (phase) context_.begin_phase();
    if (phase == 1 && has_second && when_read) when_read();
    build_slabs(env_);
    build_matrices(env_);
  }
  if (!when_read || has_second) return;
  create<warp::BarrierOp>();
  when_read();
}

void WarpBuilder::publish_late_inputs() {
  create<warp::WaitCopiesOp>(1);
  env_.tiles.publish([](const PlannedBuffer& ring) { return ring.copied != Copied::early; });
}

// What was made of a state that was taken before is in shared memory.
void WarpBuilder::take_state(bool saved) {
  env_.site.phase = saved ? placement_.first_of_rows() : placement_.first_after_rows() - 1;
  env_.state.sums = context_.placed.find_sums(state_of(program_, saved));
  begin_taking(saved);
  env_.site.begin_rows();
  if (env_.state.sums) round_state(env_);
  take_rows(saved);
  env_.state.sums = nullptr;
}

void WarpBuilder::begin_taking(bool saved) {
  const SumScales* sums = env_.state.sums;
  auto of_rows = [&](Operation* op) { return placement_.of(op).owner == Owner::rows; };
  auto takes = [&](Operation* op) { return of_rows(op) && placement_.of(op).phase == env_.site.phase; };
  begin_inputs(of_rows);
  publish_state(env_, saved);
  if (has_maximum(context_.placed, saved)) create<warp::BarrierOp>();
  load_numbers(env_);
  // Where the state's scale is shared, only what is rounded here for others, too, takes one of inputs.
  env_.scales.create(/*of_states=*/false,
                     [&](Operation* op) { return sums ? takes(op) && sums->brought.contains(op) : of_rows(op); });
  env_.scales.create(/*of_states=*/true, takes);
  create_own_scales(env_);
}

// What only the saved state after the chunk is made of.
static llvm::DenseSet<Operation*> ops_of_next(chunk::ProgramOp program) {
  llvm::DenseSet<Operation*> ops;
  for (Operation& op : llvm::reverse(program.getBody().front()))
    if (isa<chunk::UpdateSavedOp>(op) ||
        (!op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation* user) { return ops.contains(user); })))
      ops.insert(&op);
  return ops;
}

void WarpBuilder::take_rows(bool saved) {
  auto ops = placement_.ops_of(Owner::rows, env_.site.phase);
  llvm::erase_if(
      ops, [&](Operation* op) { return op->getNumResults() && env_.registers.find(op->getResult(0), Owner::rows); });
  auto first_of_next = ops.end();
  if (saved) {
    const auto of_next = ops_of_next(program_);
    first_of_next = std::stable_partition(ops.begin(), ops.end(), [&](auto op) { return !of_next.contains(op); });
  }
  build_rows(env_, {ops.begin(), first_of_next});
  leave_scales(env_);
  if (!saved) return;
  create<warp::EndLastOp>();
  build_rows(env_, {first_of_next, ops.end()});
}

void WarpBuilder::finish_chunk() {
  const int first = placement_.first_after_rows();
  auto finishes = [&](Operation* op) { return placement_.of(op).phase >= first; };
  int& phase = env_.site.phase = first;
  begin_inputs(any_reader);
  load_numbers(env_);
  env_.scales.create(/*of_states=*/false, finishes);
  env_.scales.create(/*of_states=*/true, finishes);
  if (in_shares(phase, placement_)) begin_share(env_);
  for (; phase < placement_.phases(); ++phase) {
    if (phase > first) create<warp::BarrierOp>();
    if (phase + 1 == placement_.phases() && context_.placed.shared.ring_plan().copies_last())
      copies_.start_ahead(Copied::late, context_.plan.round_chunks());
    build_slabs(env_);
    build_matrices(env_);
  }
}

}  // namespace wkvc
