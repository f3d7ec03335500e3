// The shared memory of one chunk program in a kernel: what lies there, how many bytes, and from which phase to which.
#pragma once

#include <map>

#include "codegen/passes/place/memory/RingPlan.h"

namespace wkvc {

class SharedPlan {
 public:
  // `spaces` and `first_phase` as ProgramSpaces has them.
  SharedPlan(const Placement& placement, const Plan& plan, std::deque<SharedBuffer>& spaces, int first_phase)
      : spaces_(placement, plan, spaces, first_phase), rings_(spaces_) {}
  SharedPlan(const SharedPlan&) = delete;  // whose parts refer to each other
  SharedPlan& operator=(const SharedPlan&) = delete;

  // All but the staged state and numbers.
  void plan(Ahead prefetch);
  void plan_number(const std::string& name);  // that a team leaves for those who take the state through its chunk
  // Room for a state of the dtype that is copied ahead. It is copied again when it has been read: in the second phase,
  // if there is one.
  void stage_state(const std::string& name, mlir::Type saved);
  // What is copied in one loop for the next, or summed over all, is in use up to the kernel's last phase.
  void keep_copies_until(int phase);
  void keep_sums_until(int phase);

  RingPlan& ring_plan() { return rings_; }
  const RingPlan& ring_plan() const { return rings_; }
  // By input, by parameter's gradient, in the program's order.
  const llvm::MapVector<mlir::Value, PlannedBuffer>& rings() const { return rings_.rings(); }
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
  const Placement& placement() const { return spaces_.placement; }

  void plan_maximum(llvm::StringRef name);
  void plan_maxima();
  void plan_sums();
  void plan_values();
  void plan_scratch();
  PlannedBuffer planned(mlir::Operation* op);
  void plan_scale(chunk::RoundOp round, PlannedBuffer& operand, const std::string& name);

  ProgramSpaces spaces_;
  RingPlan rings_;
  llvm::MapVector<mlir::Value, PlannedBuffer> values_;
  std::map<std::string, PlannedBuffer> maxima_, numbers_;
  PlannedBuffer staged_;
  llvm::MapVector<mlir::Operation*, PlannedBuffer> scratch_, sums_;
};

}  // namespace wkvc
