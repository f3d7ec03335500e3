// Where and when each value of a chunk program is computed by the warps of one group, before any code exists.
//
// Owners: C×K values in slabs of 16 key columns dealt round to the warps, or of a share each; C×C matrices and columns
// of one number a token by one warp each; C×V and V×K values by the warp that owns 16 value rows, in registers. A value
// that another owner reads crosses through shared memory, which costs a barrier: phases are the stretches between
// barriers. What costs little is computed again wherever it is needed in a later phase.
//
// Behind teams the phases of value rows are one for each state that is taken through a round of chunks: the saved state
// of a backward program first. What teams do before has no part in a state, what they do after is made of them. C×V
// values that teams need before are made in slabs, too, of value columns.
//
// The pass `place` chooses places (Placing.h) and writes them to the program; what follows reads them there.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "codegen/chunk/Axes.h"
#include "codegen/schedule/Place.h"

namespace wkvc {

class Placement {
 public:
  // Has no places yet. `warps` share a chunk: those of the block, or of one of its teams.
  Placement(chunk::ProgramOp program, int warps);

  chunk::ProgramOp program() const { return program_; }
  mlir::Block& body() const { return chunk::ProgramOp(program_).getBody().front(); }

  const ValuePlace& of(mlir::Operation* op) const { return places_.find(op)->second; }
  const ValuePlace& of(mlir::Value value) const { return of(value.getDefiningOp()); }
  const Space& space(mlir::Value value) const { return spaces_.find(value)->second; }
  ValuePlace& at(mlir::Operation* op) { return places_[op]; }
  // Puts an operation into a phase, which no later phase reads yet.
  void move(mlir::Operation* op, int phase) { at(op).phase = at(op).last = phase; }

  const Phases& division() const { return phases_; }  // of the chunk into phases
  Phases& division() { return phases_; }
  int phases() const { return phases_.count(); }
  int first_of_rows() const { return phases_.prepare; }  // behind teams: the first phase of value rows,
  int first_after_rows() const { return phases_.prepare + phases_.states; }  // and the first after them
  bool is_by_teams() const { return phases_.whole == 0; }

  // Returns the operations of an owner in a phase, in the program's order, without sources.
  std::vector<mlir::Operation*> ops_of(Owner owner, int phase) const;

  // Returns whether other warps or later phases read the value from shared memory.
  bool is_shared(mlir::Value value) const;

 private:
  chunk::ProgramOp program_;
  Spaces spaces_;
  llvm::DenseMap<mlir::Operation*, ValuePlace> places_;
  Phases phases_;
};

// Returns whether the states of a backward program go through a round at once: with no barrier between them, and with
// registers for both.
bool takes_both_at_once(const Placement& placement);

// Returns the operand of which an input is widened in later phases instead, null for the input itself: behind teams
// its ring is free when states come, and f16 holds what inputs of 16 bits have, but for what is tiny beside their
// maximum: only where that counts little.
chunk::RoundOp stand_in(mlir::Value widened, int phase, const Placement& placement);

// Returns whether warps hold an operand before the last phase begins, so that its place is free then: operands made of
// states that shares contract over all values, and inputs.
bool is_held(mlir::Value operand, const Placement& placement);
bool holds_any(const Placement& placement);

// Returns whether a value is not computed, but copied or read where it is used.
bool is_source(mlir::Value value);

// Returns whether each warp, or slab, has its own part of the sum. One warp has all of a sum along a matrix of tokens
// by tokens.
bool is_partial_sum(mlir::Operation* op, const Placement& placement);

// Returns whether an operation reads whole operands from shared memory.
bool is_contraction(mlir::Operation* op);

// Returns whether contractions accumulate into a sum, in place.
bool is_accumulator(mlir::Operation* op);

// Returns whether each element of a result is made of the same element of the operands.
bool is_elementwise(mlir::Operation* op);

}  // namespace wkvc
