// The phases of a chunk, of a single team or of one that prepares and finishes chunks, and the state between them.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

using namespace mlir;

namespace wkvc {

static bool anyone(Operation*) { return true; }

// The tiles of the current chunk that some of these operations read.
void WarpBuilder::begin_inputs(llvm::function_ref<bool(Operation*)> readers) {
  registers_.clear();
  brought_.clear();
  for (auto& [value, ring] : of_.shared.rings()) {
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    bool for_scale = value.use_empty() && buffers_.maximum(input.getSym());
    if (!for_scale && !llvm::any_of(value.getUsers(), readers)) continue;
    current_[value] = create<warp::CurrentOp>(ring.type, buffers_.value(ring));
    set_name(current_[value], (input.getSym() + "_raw").str());
  }
}

void WarpBuilder::publish_inputs(llvm::function_ref<bool(const PlannedBuffer&)> rings) {
  for (auto& [value, ring] : of_.shared.rings()) {
    if (!rings(ring)) continue;
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    if (Value slots = buffers_.maximum(input.getSym())) create<warp::PublishMaxOp>(current_[value], slots);
  }
}

void WarpBuilder::begin_chunk() {
  begin_inputs(anyone);
  publish_inputs([](auto&) { return true; });
  create<warp::BarrierOp>(refuses_early(program_));
  if (!copies_.deep_phase()) copies_.start_later(Free::at_once);
  create_scales(/*of_states=*/false, anyone);
  create_own_scales();
}

void WarpBuilder::phase(int number) {
  phase_ = number;
  if (number) create<warp::BarrierOp>();
  if (number == 1) {
    copies_.start_later(Free::behind_first);
    create_scales(/*of_states=*/true, anyone);
  }
  slabs(placement_.ops_of(Owner::slab, number));
  matrices(placement_.ops_of(Owner::matrix, number));
  if (number == copies_.deep_phase()) copies_.start_later(Free::at_once);
  rows(placement_.ops_of(Owner::rows, number));
  if (number == 0) {
    publish_state(/*saved=*/true);
    publish_state(/*saved=*/false);
  }
}

void WarpBuilder::end_chunk() {
  if (!copies_.has(Free::behind_last)) return;
  create<warp::BarrierOp>();
  copies_.start_later(Free::behind_last);
}

void WarpBuilder::prepare_round(llvm::function_ref<void()> when_read) {
  load_tokens();
  if (plan_.rounds > 1) copies_.start_round();
  wait_for_round();
  prepare_chunk(when_read);
  for (auto& [input, x] : std::exchange(tokens_, {}))
    if (x.use_empty()) x.getDefiningOp()->erase();
}

void WarpBuilder::load_tokens() {
  owner_ = Owner::matrix;
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    if (chunk::columns(input.getResult()) != 1 || has_unit(input)) continue;
    Value x = loaded(input);
    set_name(x, input.getSym());
    tokens_[input] = x;
  }
}

void WarpBuilder::prepare_chunk(llvm::function_ref<void()> when_read) {
  auto prepares = [&](Operation* op) { return placement_.of(op).owner != Owner::rows; };
  const bool early = copies_.has(Copied::early);
  auto copy_early = [&] { copies_.start_ahead(Copied::early, plan_.round_chunks()); };
  if (!when_read && early) when_read = copy_early;
  begin_inputs(anyone);
  publish_inputs([&](auto& ring) { return (ring.copied == Copied::early) == early; });
  create<warp::BarrierOp>();
  create_scales(/*of_states=*/false, prepares);
  for (phase_ = 0; phase_ < placement_.first_of_rows(); ++phase_) {
    auto slab_ops = placement_.ops_of(Owner::slab, phase_), matrix_ops = placement_.ops_of(Owner::matrix, phase_);
    if (phase_ && !(slab_ops.empty() && matrix_ops.empty())) create<warp::BarrierOp>();
    if (phase_ == 1 && of_.has_second_phase() && when_read) when_read();
    slabs(slab_ops);
    matrices(matrix_ops);
  }
  if (when_read && !of_.has_second_phase()) {
    create<warp::BarrierOp>();
    when_read();
  }
  if (early && copies_.has(Copied::late)) {
    create<warp::WaitCopiesOp>(1);
    publish_inputs([](auto& ring) { return ring.copied != Copied::early; });
    // The warp that reads these maxima for its numbers may have published them: its lanes meet where it stores scales.
    auto reader = of_.sums.empty() ? std::nullopt : number_warp();
    if (reader && llvm::any_of(of_.shared.rings(), [&](auto& ring) {
          return ring.second.copied != Copied::early && ring.second.warp != *reader;
        }))
      create<warp::BarrierOp>();
  }
  store_numbers();
}

// Late copies of the last round may still be under way.
void WarpBuilder::wait_for_round() {
  create<warp::WaitCopiesOp>(copies_.has(Copied::early) && copies_.has(Copied::late) ? 1 : 0);
}

// What was made of a state that was taken before is in shared memory.
void WarpBuilder::take_state(bool saved) {
  phase_ = placement_.first_after_rows() - 1;
  if (saved) phase_ = placement_.first_of_rows();
  auto of_rows = [&](Operation* op) { return placement_.of(op).owner == Owner::rows; };
  auto takes = [&](Operation* op) { return of_rows(op) && placement_.of(op).phase == phase_; };
  taken_ = sum_scales_of(state_of(saved));
  begin_inputs(of_rows);
  publish_state(saved);
  if (shares_maximum(saved)) create<warp::BarrierOp>();
  load_numbers();
  // Where the state's scale is shared, only what is rounded here for others, too, takes one of inputs.
  create_scales(/*of_states=*/false,
                [&](Operation* op) { return taken_ ? takes(op) && taken_->brought.contains(op) : of_rows(op); });
  create_scales(/*of_states=*/true, takes);
  create_own_scales();
  owner_ = Owner::rows;
  if (taken_) round_state();
  auto ops = placement_.ops_of(Owner::rows, phase_);
  llvm::erase_if(ops, [&](Operation* op) { return op->getNumResults() && registers_.contains(op->getResult(0)); });
  if (saved) {
    const auto of_next = ops_of_next();
    auto first_of_next = std::stable_partition(ops.begin(), ops.end(), [&](auto op) { return !of_next.contains(op); });
    rows({ops.begin(), first_of_next});
    leave_scales();
    create<warp::EndLastOp>();
    rows({first_of_next, ops.end()});
  } else {
    rows(ops);
    leave_scales();
  }
  taken_ = nullptr;
}

// What only the saved state after the chunk is made of.
llvm::DenseSet<Operation*> WarpBuilder::ops_of_next() {
  llvm::DenseSet<Operation*> ops;
  for (Operation& op : llvm::reverse(program_.getBody().front()))
    if (isa<chunk::UpdateSavedOp>(op) ||
        (!op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation* user) { return ops.contains(user); })))
      ops.insert(&op);
  return ops;
}

void WarpBuilder::finish_chunk() {
  auto finishes = [&](Operation* op) { return placement_.of(op).phase >= placement_.first_after_rows(); };
  phase_ = placement_.first_after_rows();
  begin_inputs(anyone);
  load_numbers();
  create_scales(/*of_states=*/false, finishes);
  create_scales(/*of_states=*/true, finishes);
  if (placement_.in_shares(phase_)) begin_share();
  for (; phase_ < placement_.phases(); ++phase_) {
    if (phase_ > placement_.first_after_rows()) create<warp::BarrierOp>();
    if (phase_ + 1 == placement_.phases() && of_.shared.copies_last())
      copies_.start_ahead(Copied::late, plan_.round_chunks());
    slabs(placement_.ops_of(Owner::slab, phase_));
    matrices(placement_.ops_of(Owner::matrix, phase_));
  }
}

}  // namespace wkvc
