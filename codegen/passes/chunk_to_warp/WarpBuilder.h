// What the warps of a kernel do in one chunk: all phases by one team, or by a team that prepares and finishes the
// chunk, and by value rows that take the state through it.
#pragma once

#include "codegen/passes/chunk_to_warp/ChunkCopies.h"
#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

class WarpBuilder {
 public:
  // `saved` as StateForms has it.
  WarpBuilder(const PlacedProgram& of, mlir::OpBuilder& builder, const Plan& plan, mlir::Type saved);
  WarpBuilder(const WarpBuilder&) = delete;  // whose parts refer to each other
  WarpBuilder& operator=(const WarpBuilder&) = delete;

  KernelBuffers& buffers() { return buffers_; }
  ChunkCopies& copies() { return copies_; }
  StateForms& states() { return states_; }
  const BuildContext& context() const { return context_; }
  void set_unit(mlir::Value unit) { context_.unit = unit; }  // of gradients that come in and go out

  void set_state(mlir::Value tile, bool with_scale = false);  // with one: if state_carries_scale
  mlir::Value next_state() const { return env_.state.after; }

  // All phases of a chunk, by one team, with copies of later chunks.
  void go_through_chunk();
  // By a team: what its chunk needs no state for, once its inputs are there, and its slot is free if it has turns;
  // `when_read`: once they were read.
  void prepare_round(llvm::function_ref<void()> when_read = {});
  // Through a chunk that was prepared: the only state, or of a backward program the saved one or its own.
  void take_state(bool saved = false);
  void finish_chunk();  // by a team: what it makes of the states

 private:
  void begin_inputs(llvm::function_ref<bool(mlir::Operation*)> readers);
  void begin_chunk();      // publish maxima, barrier, scales; copies ahead, if not in a later phase
  void phase(int number);  // everything of one phase
  void end_chunk();        // copies that the last phase leaves room for

  void load_tokens();  // inputs of one number a token, for matrices, before anything is waited for
  void wait_for_round();
  void publish_late_inputs();
  void prepare_chunk(llvm::function_ref<void()> when_read);
  void prepare_phases(llvm::function_ref<void()> when_read);

  void begin_taking(bool saved);
  void take_rows(bool saved);

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return context_.create<Op>(std::forward<Args>(args)...);
  }

  chunk::ProgramOp program_;
  const Placement& placement_;
  KernelBuffers buffers_;
  BuildContext context_;
  StateForms states_;
  ChunkCopies copies_;
  Environment env_;
};

}  // namespace wkvc
