// The shared memory of one kernel: its program's, and that of the program that recomputes states for it.
#pragma once

#include <optional>

#include "codegen/passes/place/PlacedProgram.h"

namespace wkvc {

// A channel of a kernel of teams: its buffers, where their offsets begin, and the bytes of a slot.
struct PlannedChannel {
  std::string name;
  std::vector<SharedBuffer*> spaces;
  std::int64_t offset = 0, bytes = 0;
};

class KernelMemory {
 public:
  // Plans all buffers, with offsets. `again`: the placement of the program that recomputes states; null: all are saved.
  // `prefetch`: what is copied ahead. Throws UserError where states go through a round again and its inputs are read
  // meanwhile. The placements outlive the object.
  KernelMemory(const Placement& main, const Placement* again, const Plan& plan, Ahead prefetch);

  const PlacedProgram& main() const { return *main_; }
  const PlacedProgram* again() const { return again_ ? &*again_ : nullptr; }
  std::int64_t bytes() const { return bytes_; }  // of the kernel
  // Of a kernel of teams, in the order in which their slots lie; the first is kSlots.
  const std::vector<PlannedChannel>& channels() const { return channels_; }
  const std::deque<SharedBuffer>& spaces() const { return spaces_; }

 private:
  void plan_again(const Placement& again, const Plan& plan, Ahead prefetch);
  PlannedChannel& channel(const std::string& name);
  void allocate_all(const Plan& plan);

  std::deque<SharedBuffer> spaces_;
  std::optional<PlacedProgram> main_, again_;
  std::vector<PlannedChannel> channels_;
  std::int64_t bytes_ = 0;
};

// Returns the dtype of a program's saved states.
mlir::Type saved_type(chunk::ProgramOp program);

}  // namespace wkvc
