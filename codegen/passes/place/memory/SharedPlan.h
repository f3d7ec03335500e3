// The shared memory of one chunk program in a kernel: what lies there, how many bytes, and from which phase to which.
#pragma once

#include <llvm/ADT/MapVector.h>

#include <deque>
#include <map>
#include <string>

#include "codegen/passes/place/Placement.h"
#include "codegen/passes/place/Plan.h"
#include "codegen/warp/SharedMemory.h"

namespace wkvc {

// When an input of a team's next chunk is copied: a round ahead, as all teams have prepared this one's, or later.
enum class Copied { early, prepared, late };

// When a chunk leaves a ring's place for the next one's input, without teams: at once, as there is a second stage,
// behind the first phase or behind the last.
enum class Free { at_once, behind_first, behind_last };

struct PlannedBuffer {
  SharedBuffer* space = nullptr;
  SharedBuffer* scale = nullptr;  // floats beside it, for the scale of an f16 tile or of each of its slabs
  llvm::StringRef slabs;          // "rows" or "columns" if it has one for each
  int stages = 1;                 // of a ring, and the warp that copies it
  int warp = 0;
  bool exchanged = false;
  Copied copied = Copied::late;
  Free free = Free::at_once;
  mlir::MemRefType type;
};

class SharedPlan {
 public:
  // `spaces`: of the whole kernel, in which this program's phases begin with `first_phase`. Teams of warps have a slot
  // each, with everything of one chunk.
  SharedPlan(const Placement& placement, const Plan& plan, std::deque<SharedBuffer>& spaces, int first_phase)
      : program_(placement.program()), placement_(placement), plan_(plan), spaces_(spaces), first_phase_(first_phase) {}

  // All but the staged state and numbers. With Ahead::early rings that only the first phase reads are there to be
  // copied to after it, or where states are held in registers in the last phase, in that one. With Ahead::read all that
  // teams read as they prepare a round are there to be copied to behind that.
  void plan(Ahead prefetch);
  // Before plan: another program, which takes states through some rounds again, comes between this one's rounds, and
  // has its inputs in the same rings.
  void go_again() { goes_again_ = true; }
  bool goes_again() const { return goes_again_; }
  bool copies_last() const { return copies_last_; }  // what is late, in the last phase, for the next round
  // Before plan: inputs lie where another program of the kernel has those of the same name.
  void share_rings(const SharedPlan& other) { other_ = &other; }
  bool are_read_first() const;                // inputs, in the first phase alone
  void plan_number(const std::string& name);  // that a team leaves for those who take the state through its chunk
  // Room for a state of the dtype that is copied ahead. It is copied again when it has been read: in the second phase,
  // if there is one.
  void stage_state(const std::string& name, mlir::Type saved);
  // What is copied in one loop for the next, or summed over all, is in use up to the kernel's last phase.
  void keep_copies_until(int phase);
  void keep_sums_until(int phase);

  // By input, by parameter's gradient, in the program's order.
  const llvm::MapVector<mlir::Value, PlannedBuffer>& rings() const { return rings_; }
  const llvm::MapVector<mlir::Operation*, PlannedBuffer>& sums() const { return sums_; }
  const llvm::MapVector<mlir::Value, PlannedBuffer>& values() const { return values_; }
  const llvm::MapVector<mlir::Operation*, PlannedBuffer>& scratch() const { return scratch_; }  // by inverse
  // By the name of an input or a state, and by the name of a number.
  const std::map<std::string, PlannedBuffer>& maxima() const { return maxima_; }
  const std::map<std::string, PlannedBuffer>& numbers() const { return numbers_; }
  // Null if no state is copied ahead.
  const PlannedBuffer* staged() const { return staged_.space ? &staged_ : nullptr; }
  const PlannedBuffer* find(mlir::Value value) const;  // where it crosses to other warps; null if it does not

 private:
  bool are_apart() const;
  bool are_read_before(int phase) const;
  bool ends_with_numbers() const;
  void plan_rings(Ahead prefetch);
  PlannedBuffer stages_of(chunk::InputOp input, Ahead prefetch) const;
  PlannedBuffer planned_ring(chunk::InputOp input, Ahead prefetch);
  void take_rings();
  void deal_rings();
  void plan_maximum(llvm::StringRef name);
  void plan_maxima();
  void plan_sums();
  void plan_values();
  void plan_scratch();
  PlannedBuffer planned(mlir::Operation* op);
  bool is_of_team(int last_phase) const;  // what is read up to there
  SharedBuffer* reserve(const std::string& name, std::int64_t bytes, int from, int to);
  mlir::MemRefType floats_type(int64_t count) const;
  mlir::MemRefType shared_type(int64_t rows, int64_t columns, mlir::Type element) const;

  mutable chunk::ProgramOp program_;  // whose accessors are not const
  const Placement& placement_;
  Plan plan_;
  std::deque<SharedBuffer>& spaces_;
  int first_phase_;
  const SharedPlan* other_ = nullptr;
  llvm::MapVector<mlir::Value, PlannedBuffer> rings_, values_;
  std::map<std::string, PlannedBuffer> maxima_, numbers_;
  PlannedBuffer staged_;
  bool copies_last_ = false, goes_again_ = false;
  llvm::MapVector<mlir::Operation*, PlannedBuffer> scratch_;
  llvm::MapVector<mlir::Operation*, PlannedBuffer> sums_;
};

}  // namespace wkvc
