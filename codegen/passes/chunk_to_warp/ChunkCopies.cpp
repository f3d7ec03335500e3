#include "codegen/passes/chunk_to_warp/ChunkCopies.h"

using namespace mlir;

namespace wkvc {

// The state before the next chunk. A recompute program has that before the next group.
Value ChunkCopies::staged_chunk() { return c_.program().getRecompute() ? Value() : c_.buffers.staged(); }

void ChunkCopies::copy_inputs(int ahead, bool next) {
  for (auto& [value, ring] : c_.buffers.plan().rings()) c_.create<warp::CopyOp>(c_.buffers.value(ring), ahead, next);
}

void ChunkCopies::start(bool of_state) {
  copy_inputs(0, /*next=*/false);
  if (deep_phase()) {
    c_.create<warp::CommitCopiesOp>();
    copy_inputs(1, /*next=*/false);
  }
  if (of_state && staged_chunk())
    c_.create<warp::CopySavedOp>(states_.tensor(), staged_chunk(), 0, /*next=*/false, StringAttr());
  c_.create<warp::CommitCopiesOp>();
}

void ChunkCopies::start_next_group() {
  copy_inputs(0, /*next=*/true);
  c_.create<warp::CopySavedOp>(states_.tensor(), c_.buffers.staged(), 0, /*next=*/true, StringAttr());
  c_.create<warp::CommitCopiesOp>();
}

void ChunkCopies::copy_some(Which which, int ahead, bool next) {
  bool any = false;
  for (auto& [value, ring] : c_.buffers.plan().rings()) {
    if (!which(ring.copied)) continue;
    c_.create<warp::CopyOp>(c_.buffers.value(ring), ahead, next);
    any = true;
  }
  if (any) c_.create<warp::CommitCopiesOp>();
}

bool ChunkCopies::has(Copied which) const {
  return llvm::any_of(c_.buffers.plan().rings(), [=](auto& ring) { return ring.second.copied == which; });
}

static bool is_of_round(Copied copied) { return copied != Copied::early; }

void ChunkCopies::start_round() { copy_some(is_of_round, 0, /*next=*/false); }
void ChunkCopies::start_next() { copy_some(is_of_round, 0, /*next=*/true); }
void ChunkCopies::start_ahead(Copied which, int ahead) {
  const bool next = ahead && which != Copied::early && c_.buffers.plan().ring_plan().goes_again();
  copy_some([=](Copied copied) { return copied == which; }, next ? 0 : ahead, next);
}

// Of two chunks in a group one is recomputed, with none after it.
bool ChunkCopies::go_ahead() { return !c_.program().getRecompute() || c_.program().getSavedEvery() > 2; }

std::optional<int> ChunkCopies::deep_phase() {
  auto inverses = c_.program().getBody().getOps<chunk::UnitLowerInverseOp>();
  if (inverses.empty() || c_.program().getBackward() || c_.program().getRecompute()) return std::nullopt;
  int phase = c_.placement().of((*inverses.begin()).getResult()).phase;
  bool read = llvm::all_of(c_.buffers.plan().rings(), [&](auto& ring) {
    return ring.second.stages == 2 && c_.placement().of(ring.first).last < phase;
  });
  return read ? std::optional(phase) : std::nullopt;
}

void ChunkCopies::wait() { c_.create<warp::WaitCopiesOp>(deep_phase() ? 1 : 0); }

bool ChunkCopies::has(Free since) {
  return (staged_chunk() && since == Free::behind_first) ||
         llvm::any_of(c_.buffers.plan().rings(), [&](auto& ring) { return ring.second.free == since; });
}

void ChunkCopies::start_later(Free since) {
  if (!go_ahead() || !has(since)) return;
  for (auto& [value, ring] : c_.buffers.plan().rings())
    if (ring.free == since) c_.create<warp::CopyOp>(c_.buffers.value(ring), deep_phase() ? 2 : 1, /*next=*/false);
  if (staged_chunk() && since == Free::behind_first)
    c_.create<warp::CopySavedOp>(states_.tensor(), staged_chunk(), 1, /*next=*/false,
                                 states_.first().empty() ? StringAttr() : c_.b.getStringAttr(states_.first()));
  // One commit for all of them, after the last.
  const auto is_later = [&](Free other) { return other > since && has(other); };
  if (!is_later(Free::behind_first) && !is_later(Free::behind_last)) c_.create<warp::CommitCopiesOp>();
}

}  // namespace wkvc
