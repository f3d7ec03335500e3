#include "codegen/passes/chunk_to_warp/ChunkLoops.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/StateTransfers.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"

using namespace mlir;

namespace wkvc {

// Before a loop over chunks, unless its copies have been started.
static void start_copies(WarpBuilder& builder, warp::Over over) {
  const bool everywhere = over == warp::Over::chunks && !builder.copies().has(Free::behind_last);
  builder.buffers().declare_rings(everywhere);
  builder.copies().start(/*of_state=*/true);
}

// A loop over chunks and what has to come before it.
static Value loop_over(KernelContext& k, WarpBuilder& builder, Value initial, warp::Over over) {
  const bool recomputes = &builder != &*k.main, started = over == warp::Over::group && k.groups_ahead();
  if (!started) start_copies(builder, over);
  OpBuilder::InsertionGuard guard(k.b);
  auto [loop, S] = k.begin_loop(initial, over, k.backward() && !recomputes, recomputes ? "S_before" : k.carried());
  builder.set_state(S);
  if (saves_states(k)) save_state(k, k.main->states().as_stored(S));
  if (!started) builder.copies().wait();
  builder.go_through_chunk();
  if (recomputes) keep_state(k, builder.states().as_stored(builder.next_state()));
  if (has_intermediate_states(k)) store_intermediate_state(k, k.main->states().as_stored(builder.next_state()));
  // At its end, so that nothing waits here for what is started after this loop has begun.
  if (started && builder.copies().go_ahead()) k.create<warp::WaitCopiesOp>(0);
  k.create<warp::YieldOp>(builder.next_state());
  return loop.getResult();
}

Value through_chunks(KernelContext& k, Value initial) { return loop_over(k, *k.main, initial, warp::Over::chunks); }

// The state before a group's first chunk, where the loop backward reads it again.
static Value state_of_group(KernelContext& k) {
  if (k.groups_ahead()) k.create<warp::WaitCopiesOp>(0);
  Value S = k.again->states().widened(k.again->states().load_saved());
  set_name(S, "S_group");
  if (k.groups_ahead())
    k.create<warp::StageStateOp>(S, k.main->buffers().staged());
  else
    k.create<warp::KeepStateOp>(kRecomputed, S, k.saved, /*but_last=*/false);
  return S;
}

Value through_groups(KernelContext& k, Value initial) {
  OpBuilder::InsertionGuard guard(k.b);
  auto [loop, dS] = k.begin_loop(initial, warp::Over::groups, /*reverse=*/true, (k.carried() + "_group").str());
  const bool ahead = k.groups_ahead();
  if (ahead) k.again->buffers().declare_rings(/*everywhere=*/true);
  k.create<warp::NoteOp>("The states before the chunks of this group.");
  k.create<warp::BarrierOp>();
  Value S = state_of_group(k);
  if (ahead) k.main->copies().start(/*of_state=*/false);
  loop_over(k, *k.again, k.again->states().as_carried(S), warp::Over::group);
  if (ahead) k.create<warp::WaitCopiesOp>(0);
  k.create<warp::NoteOp>("Backward through the group.");
  k.create<warp::BarrierOp>();
  if (ahead) k.again->copies().start_next_group();
  k.create<warp::YieldOp>(loop_over(k, *k.main, dS, warp::Over::group));
  return loop.getResult();
}

}  // namespace wkvc
