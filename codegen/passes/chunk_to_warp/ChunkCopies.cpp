#include "codegen/passes/chunk_to_warp/ChunkCopies.h"

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

// The state before the next chunk. A recompute program has that before the next group.
Value ChunkCopies::staged_chunk() { return program_.getRecompute() ? Value() : buffers_.staged(); }

void ChunkCopies::copy_inputs(int ahead, bool next) {
  for (auto& [value, ring] : buffers_.plan().rings()) create<warp::CopyOp>(buffers_.value(ring), ahead, next);
}

void ChunkCopies::start(bool of_state) {
  copy_inputs(0, /*next=*/false);
  if (deep_phase()) {
    create<warp::CommitCopiesOp>();
    copy_inputs(1, /*next=*/false);
  }
  if (of_state && staged_chunk())
    create<warp::CopySavedOp>(kept_states_, staged_chunk(), 0, /*next=*/false, StringAttr());
  create<warp::CommitCopiesOp>();
}

void ChunkCopies::start_next_group() {
  copy_inputs(0, /*next=*/true);
  create<warp::CopySavedOp>(kept_states_, buffers_.staged(), 0, /*next=*/true, StringAttr());
  create<warp::CommitCopiesOp>();
}

void ChunkCopies::copy_some(Which which, int ahead, bool next) {
  bool any = false;
  for (auto& [value, ring] : buffers_.plan().rings()) {
    if (!which(ring.copied)) continue;
    create<warp::CopyOp>(buffers_.value(ring), ahead, next);
    any = true;
  }
  if (any) create<warp::CommitCopiesOp>();
}

bool ChunkCopies::has(Copied which) const {
  return llvm::any_of(buffers_.plan().rings(), [=](auto& ring) { return ring.second.copied == which; });
}

static bool is_of_round(Copied copied) { return copied != Copied::early; }

void ChunkCopies::start_round() { copy_some(is_of_round, 0, /*next=*/false); }
void ChunkCopies::start_next() { copy_some(is_of_round, 0, /*next=*/true); }
void ChunkCopies::start_ahead(Copied which, int ahead) {
  const bool next = ahead && which != Copied::early && buffers_.plan().ring_plan().goes_again();
  copy_some([=](Copied copied) { return copied == which; }, next ? 0 : ahead, next);
}

// Of two chunks in a group one is recomputed, with none after it.
bool ChunkCopies::go_ahead() { return !program_.getRecompute() || program_.getSavedEvery() > 2; }

std::optional<int> ChunkCopies::deep_phase() {
  auto inverses = program_.getBody().getOps<chunk::UnitLowerInverseOp>();
  if (inverses.empty() || program_.getBackward() || program_.getRecompute()) return std::nullopt;
  int phase = placement_.of((*inverses.begin()).getResult()).phase;
  bool read = llvm::all_of(buffers_.plan().rings(), [&](auto& ring) {
    return ring.second.stages == 2 && placement_.of(ring.first).last < phase;
  });
  return read ? std::optional(phase) : std::nullopt;
}

void ChunkCopies::wait() { create<warp::WaitCopiesOp>(deep_phase() ? 1 : 0); }

bool ChunkCopies::has(Free since) {
  return (staged_chunk() && since == Free::behind_first) ||
         llvm::any_of(buffers_.plan().rings(), [&](auto& ring) { return ring.second.free == since; });
}

void ChunkCopies::start_later(Free since) {
  if (!go_ahead() || !has(since)) return;
  for (auto& [value, ring] : buffers_.plan().rings())
    if (ring.free == since) create<warp::CopyOp>(buffers_.value(ring), deep_phase() ? 2 : 1, /*next=*/false);
  if (staged_chunk() && since == Free::behind_first)
    create<warp::CopySavedOp>(kept_states_, staged_chunk(), 1, /*next=*/false,
                              but_first_ ? b_.getStringAttr("saved_states") : StringAttr());
  // One commit for all of them, after the last.
  const auto is_later = [&](Free other) { return other > since && has(other); };
  if (!is_later(Free::behind_first) && !is_later(Free::behind_last)) create<warp::CommitCopiesOp>();
}

Value ChunkCopies::load_saved() {
  auto tile = VectorType::get({16, static_cast<int64_t>(program_.getKeyDim())}, saved_);
  if (buffers_.staged()) return create<warp::LoadStagedOp>(tile, buffers_.staged());
  return create<warp::LoadSavedOp>(tile, kept_states_);
}

Value ChunkCopies::widened(Value saved) {
  auto type = cast<VectorType>(saved.getType());
  if (type.getElementType().isF32()) return saved;
  const char* widen = fits_ ? "widen_fitted" : "widen";
  return create<warp::CallOp>(VectorType::get(type.getShape(), b_.getF32Type()), widen, saved, FloatAttr());
}

Value ChunkCopies::times_power(Value x, int64_t exponent, const char* suffix, bool of_state) {
  if (!exponent) return x;
  Value result = create<warp::TimesPowerOp>(x, exponent, of_state);
  llvm::StringRef name = name_of(x);
  if (auto widen = x.getDefiningOp<warp::CallOp>(); widen && name.empty()) name = name_of(widen.getX().front());
  if (!name.empty()) set_name(result, (name + suffix).str());
  return result;
}

Value ChunkCopies::saved_state(Value saved) {
  auto states = program_.getBody().getOps<chunk::SavedStateOp>();
  Value x = widened(saved);  // in a program that recomputes states it is the one that is carried
  return states.empty() ? as_carried(x) : times_power(x, chunk::exponent_of(*states.begin()), "_carried");
}

Value ChunkCopies::as_carried(Value state) {
  return times_power(state, chunk::exponent_of(*program_.getBody().getOps<chunk::StateOp>().begin()), "_carried");
}

Value ChunkCopies::as_stored(Value state, bool of_state) {
  return times_power(state, -chunk::exponent_of(*program_.getBody().getOps<chunk::StateOp>().begin()), "_stored",
                     of_state);
}

}  // namespace wkvc
