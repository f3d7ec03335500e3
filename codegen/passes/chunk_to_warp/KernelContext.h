// What the loops of a kernel are built of: its program and plan, what builds chunks of the program, and of the one that
// recomputes states, if there is one.
#pragma once

#include <optional>

#include "codegen/passes/chunk_to_warp/WarpBuilder.h"
#include "codegen/passes/place/memory/KernelMemory.h"

namespace wkvc {

struct KernelContext {
  KernelContext(chunk::ProgramOp of, const KernelMemory& in, const Plan& by, mlir::OpBuilder& builder);
  KernelContext(const KernelContext&) = delete;  // whose parts refer to each other
  KernelContext& operator=(const KernelContext&) = delete;

  const PlacedProgram& placed() const { return memory.main(); }
  bool backward() const { return chunk::ProgramOp(program).getBackward(); }
  // Whether the states of a group of chunks are recomputed before the group's chunks, with copies ahead.
  bool groups_ahead() const;
  // Whether recomputed states go through a workspace: the state before a group's first chunk was saved, the one before
  // its last stays in shared memory.
  bool keeps_states() const;

  warp::TileType tile() const;      // of a warp's rows of a state
  llvm::StringRef carried() const;  // the name of the state that goes from chunk to chunk
  void set_unit(mlir::Value of_gradients);

  // Begins a loop that carries a state, and the body that follows. Returns the loop and the state in its body.
  std::pair<warp::SweepOp, mlir::Value> begin_loop(mlir::Value initial, warp::Over over, bool reverse,
                                                   llvm::StringRef name, bool beside = false) const;

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) const {
    return main->context().create<Op>(std::forward<Args>(args)...);
  }

  void begin_phase() const { main->context().begin_phase(); }

  chunk::ProgramOp program;
  const KernelMemory& memory;
  Plan plan;
  mlir::OpBuilder& b;
  mlir::Type saved;  // element type of saved states
  std::optional<WarpBuilder> main, again;
  mlir::Value unit;  // of gradients; null if they have none
};

}  // namespace wkvc
