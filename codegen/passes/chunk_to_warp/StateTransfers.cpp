#include "codegen/passes/chunk_to_warp/StateTransfers.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Summary.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"

using namespace mlir;

namespace wkvc {

static bool has_summary(KernelContext& k) { return k.program.getSummary().has_value(); }

static Value in_unit(KernelContext& k, Value state, bool over, bool of_state) {
  return k.unit ? k.create<warp::TimesUnitOp>(state, k.unit, over, of_state, FloatAttr()) : state;
}

Value load_first_state(KernelContext& k) {
  if (has_summary(k)) return k.create<warp::StartSummaryOp>(k.tile());
  const llvm::StringRef tensor = k.program.getSegments() > 1 ? segments_name(k.program) : first_state(k.program);
  Value state = k.create<warp::LoadStateOp>(k.tile(), tensor);
  return k.main->states().as_carried(in_unit(k, state, /*over=*/true, /*of_state=*/false));
}

void store_last_state(KernelContext& k, Value state) {
  state = k.main->states().as_stored(state, /*of_state=*/has_summary(k));
  state = in_unit(k, state, /*over=*/false, /*of_state=*/has_summary(k));
  k.create<warp::StoreStateOp>(has_summary(k) ? segments_name(k.program) : last_state(k.program), state);
}

bool saves_states(KernelContext& k) { return !k.backward() && k.program.getSavedEvery() && !has_summary(k); }
void save_state(KernelContext& k, Value state) { k.create<warp::SaveStateOp>(kSavedStates, state, k.saved); }

bool has_intermediate_states(KernelContext& k) { return k.program.getStatesEvery() > 0 && !has_summary(k); }
void store_intermediate_state(KernelContext& k, Value state) {
  k.create<warp::StoreIntermediateOp>("intermediate_states", state, k.program.getStatesEvery());
}

void keep_state(KernelContext& k, Value state) {
  const bool ahead = k.groups_ahead();
  if (k.keeps_states()) k.create<warp::KeepStateOp>(kRecomputed, state, k.saved, /*but_last=*/ahead);
  if (ahead) k.create<warp::StageStateOp>(state, k.main->buffers().staged());
}

}  // namespace wkvc
