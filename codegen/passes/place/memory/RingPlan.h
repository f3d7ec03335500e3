// The rings of a chunk program's inputs: their places in shared memory, and when they are copied to.
#pragma once

#include <llvm/ADT/MapVector.h>

#include "codegen/passes/place/memory/ProgramSpaces.h"
#include "codegen/schedule/Schedule.h"

namespace wkvc {

class RingPlan {
 public:
  explicit RingPlan(ProgramSpaces& spaces) : spaces_(spaces), placement_(spaces.placement) {}

  // With Ahead::early rings that only the first phase reads are there to be copied to after it, or where states are
  // held in registers in the last phase, in that one. With Ahead::read all that teams read as they prepare a round are
  // there to be copied to behind that.
  void plan(Ahead prefetch);
  // Before plan: another program, which takes states through some rounds again, comes between this one's rounds, and
  // has its inputs in the same rings.
  void go_again() { goes_again_ = true; }
  // Before plan: inputs lie where another program of the kernel has those of the same name.
  void share(const RingPlan& other) { other_ = &other; }

  const llvm::MapVector<mlir::Value, PlannedBuffer>& rings() const { return rings_; }  // by input
  bool has(llvm::StringRef input) const { return find(input); }
  bool goes_again() const { return goes_again_; }
  bool copies_last() const { return copies_last_; }           // what is late, in the last phase, for the next round
  bool are_read_first() const { return are_read_before(1); }  // inputs, in the first phase alone

 private:
  const PlannedBuffer* find(llvm::StringRef input) const;
  bool are_apart() const;
  bool are_read_before(int phase) const;
  bool ends_with_numbers() const;
  PlannedBuffer stages_of(chunk::InputOp input, Ahead prefetch) const;
  PlannedBuffer planned(chunk::InputOp input, Ahead prefetch);
  void plan_own(Ahead prefetch);
  void take();
  void deal();
  std::vector<int> copiers() const;

  ProgramSpaces& spaces_;
  const Placement& placement_;
  const RingPlan* other_ = nullptr;
  llvm::MapVector<mlir::Value, PlannedBuffer> rings_;
  bool copies_last_ = false, goes_again_ = false;
};

}  // namespace wkvc
