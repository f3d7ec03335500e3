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
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include "codegen/chunk/Axes.h"
#include "codegen/schedule/Schedule.h"

namespace wkvc {

enum class Owner { anyone, slab, matrix, rows };

struct Place {
  Owner owner = Owner::anyone;
  int phase = 0;
  int warp = -1;        // of a matrix
  bool shared = false;  // crosses through shared memory
  int last_phase = 0;   // that reads it
};

class Placement {
 public:
  // `warps` that share a chunk: of the block, or of one of its teams.
  Placement(chunk::ProgramOp program, int warps, Stored stored = Stored::sums, bool teams = false);

  const Place& of(mlir::Value value) const { return places_.find(value)->second; }
  const Place& of(mlir::Operation* op) const { return ops_.find(op)->second; }
  const Space& space(mlir::Value value) const { return spaces_.find(value)->second; }
  int phases() const { return phases_; }
  int first_of_rows() const { return first_of_rows_; }        // behind teams: the first phase of value rows,
  int first_after_rows() const { return first_after_rows_; }  // and the first after them
  // Whether the states of a backward program go through the round with no barrier between them: without scales neither
  // needs to know how large others' rows are. And whether both at once.
  bool takes_both_together() const { return both_together_; }
  bool takes_both_at_once() const;
  Axis slab_axis(mlir::Operation* op) const { return in_value_slabs_.contains(op) ? Axis::value : Axis::key; }
  int64_t slab_width(int phase, Axis axis) const;  // columns
  int64_t slab_count(mlir::Operation* op) const;   // of those in which it is made
  // The operand of which an input is widened in later phases instead, null for the input itself: behind teams its ring
  // is free when states come, and f16 holds what inputs of 16 bits have, but for what is tiny beside their maximum:
  // only where that counts little.
  chunk::RoundOp stand_in(mlir::Value widened, int phase) const {
    return phase < first_of_rows_ ? chunk::RoundOp() : stand_ins_.lookup(widened);
  }
  bool in_strips(int phase) const { return strips_ && phase < first_of_rows_; }  // see Strips.h
  // Whether each warp of a team has one slab of what it makes of the states, in blocks.
  bool in_shares(int phase) const { return shares_ && phase >= first_after_rows_; }
  // Operands made of states that shares contract over all values, and inputs: warps hold theirs before the last phase
  // begins, so that their place is free then.
  bool is_held(mlir::Value operand) const { return held_.contains(operand); }
  bool holds_any() const { return !held_.empty(); }

 private:
  Owner owner_of(mlir::Operation* op) const;
  Owner owner_of_column(mlir::Operation* op) const;
  bool is_made_beside_matrices(mlir::Operation* op) const;
  bool crosses(mlir::Value operand, mlir::Operation* user) const;
  void assign_owners(mlir::Block& body);
  void find_value_slabs(mlir::Block& body);
  void assign_phases(mlir::Block& body);
  void find_waits(mlir::Block& body);
  void assign_phases_of_teams(mlir::Block& body);
  void place(mlir::Operation* op, int phase);
  void move(mlir::Operation* op, int phase);
  bool are_independent(mlir::Block& body) const;
  void delay_matrices(mlir::Block& body);
  void delay_slabs(mlir::Block& body);
  int last_use_of_contractions(mlir::Value x) const;
  bool delay_sums(mlir::Block& body);
  void assign_matrices(mlir::Block& body, int warps);
  void find_shared(mlir::Block& body);
  void find_stand_ins(mlir::Block& body);
  bool fits_shares(mlir::Block& body) const;
  void find_held(mlir::Block& body);
  void use(mlir::Value operand, int phase, bool by_share);
  bool is_stored(mlir::Operation* op) const;

  int64_t extent(Axis axis) const { return axis == Axis::key ? program_.getKeyDim() : program_.getValueDim(); }

  mutable chunk::ProgramOp program_;  // whose accessors are not const
  int warps_;
  Stored stored_;
  Spaces spaces_;
  llvm::DenseMap<mlir::Value, Place> places_;
  llvm::DenseMap<mlir::Operation*, Place> ops_;
  // Behind teams, what an operation waits for: nothing but inputs, the first state that goes through a round, or the
  // second. The first is the saved one, where there is one.
  enum Wait { for_inputs, for_first_state, for_second_state };
  llvm::DenseMap<mlir::Operation*, Wait> waits_;
  llvm::DenseSet<mlir::Operation*> in_value_slabs_;
  llvm::DenseMap<mlir::Value, chunk::RoundOp> stand_ins_;
  int phases_ = 1, first_of_rows_ = 0, first_after_rows_ = 0;
  bool strips_ = false, shares_ = false, both_together_ = false;
  llvm::DenseSet<mlir::Value> held_;
};

// Not computed, but copied or read where they are used.
bool is_source(mlir::Value value);

// Whether an f16 operand's scale comes from maxima of inputs or states, or from its own.
bool has_bound(chunk::RoundOp round);
bool has_own_scale(chunk::RoundOp round);

// Where other warps read the operand, the scale is that of all rows of the state: known when all warps have theirs, one
// barrier later than those of inputs. Else each warp takes its own rows', of `state_of_scale`. An operand that is made
// of a state by products with rows and columns alone is a `rounded_state`, which either is of.
bool takes_scale_of_state(chunk::RoundOp round);
mlir::Value state_of_scale(chunk::RoundOp round);
mlir::Value rounded_state(chunk::RoundOp round);
mlir::Value bounding_state(chunk::RoundOp round);  // null if there is none
bool is_bounded_by(chunk::RoundOp round, mlir::Operation* state);

// Whether a state may carry a scale from chunk to chunk: it is multiplied by rows, contractions are added to it, and it
// is rounded. Each warp has a scale of its own rows if every rounding has one of its `state_of_scale`.
bool can_carry_scale(mlir::Operation* state);

// Each warp, or slab, has its own part of these sums. One warp has all of those along a matrix of tokens by tokens.
bool is_partial_sum(mlir::Operation* op, const Placement& placement);

}  // namespace wkvc
