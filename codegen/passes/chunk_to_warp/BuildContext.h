// What stays as it is while the kernel of a program is built.
#pragma once

#include "codegen/passes/chunk_to_warp/KernelBuffers.h"

namespace wkvc {

struct BuildContext {
  const PlacedProgram& placed;
  Plan plan;
  mlir::OpBuilder& b;
  const KernelBuffers& buffers;
  mlir::Value unit = {};  // of gradients that come in and go out; null: none

  const Placement& placement() const { return placed.placement; }
  chunk::ProgramOp program() const { return placed.program; }

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) const {
    return Op::create(b, program().getLoc(), std::forward<Args>(args)...);
  }

  // Lets warps meet here, where the pass `barriers` finds that they have to.
  void begin_phase() const { create<warp::PhaseOp>(); }
};

}  // namespace wkvc
