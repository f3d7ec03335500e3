// The shared memory of one kernel: its program's, and that of the program that recomputes states for it.
#pragma once

#include <optional>

#include "codegen/passes/place/PlacedProgram.h"

namespace wkvc {

class KernelMemory {
 public:
  // Plans all buffers, with offsets. `again`: the placement of the program that recomputes states; null: all are saved.
  // `prefetch`: what is copied ahead. Throws UserError where states go through a round again and its inputs are read
  // meanwhile. The placements outlive the object.
  KernelMemory(const Placement& main, const Placement* again, const Plan& plan, Ahead prefetch);

  const PlacedProgram& main() const { return *main_; }
  const PlacedProgram* again() const { return again_ ? &*again_ : nullptr; }
  std::int64_t bytes() const { return bytes_; }      // of the kernel
  std::int64_t of_team() const { return of_team_; }  // for any round of those who prepare
  std::int64_t slot() const { return slot_; }        // of a chunk of a round, with teams
  const std::deque<SharedBuffer>& spaces() const { return spaces_; }

 private:
  void plan_again(const Placement& again, const Plan& plan, Ahead prefetch);
  void allocate_all(const Plan& plan);

  std::deque<SharedBuffer> spaces_;
  std::optional<PlacedProgram> main_, again_;
  std::int64_t bytes_ = 0, of_team_ = 0, slot_ = 0;
};

// Returns the dtype of a program's saved states.
mlir::Type saved_type(chunk::ProgramOp program);

}  // namespace wkvc
