#include "codegen/passes/chunk_to_warp/StateForms.h"

#include "codegen/ir/Text.h"
#include "codegen/warp/KeptStates.h"

using namespace mlir;

namespace wkvc {

Value StateForms::load_saved() const {
  auto tile = warp::TileType::get({16, static_cast<int64_t>(c_.program().getKeyDim())}, saved_, Layout::fragments);
  if (Value staged = c_.buffers.staged()) return c_.create<warp::LoadStagedOp>(tile, staged);
  return c_.create<warp::LoadSavedOp>(tile, tensor_);
}

Value StateForms::widened(Value saved) const {
  auto type = cast<warp::TileType>(saved.getType());
  if (type.getElementType().isF32()) return saved;
  const bool fits = warp::fits_kept(saved_, c_.program().getPlain().has_value());
  const char* widen = fits ? "widen_fitted" : "widen";
  return c_.create<warp::CallOp>(type.clone(c_.b.getF32Type()), widen, saved, FloatAttr());
}

Value StateForms::times_power(Value x, int64_t exponent, const char* suffix, bool of_state) const {
  if (!exponent) return x;
  Value result = c_.create<warp::TimesPowerOp>(x, exponent, of_state);
  llvm::StringRef name = name_of(x);
  if (auto widen = x.getDefiningOp<warp::CallOp>(); widen && name.empty()) name = name_of(widen.getX().front());
  if (!name.empty()) set_name(result, (name + suffix).str());
  return result;
}

int64_t StateForms::carried_exponent() const {
  return chunk::exponent_of(*c_.program().getBody().getOps<chunk::StateOp>().begin());
}

Value StateForms::as_taken(Value saved) const {
  auto states = c_.program().getBody().getOps<chunk::SavedStateOp>();
  Value x = widened(saved);  // in a program that recomputes states it is the one that is carried
  return states.empty() ? as_carried(x) : times_power(x, chunk::exponent_of(*states.begin()), "_carried");
}

Value StateForms::as_carried(Value state) const { return times_power(state, carried_exponent(), "_carried"); }

Value StateForms::as_stored(Value state, bool of_state) const {
  return times_power(state, -carried_exponent(), "_stored", of_state);
}

}  // namespace wkvc
