// What one chunk program reserves of its kernel's shared memory.
#pragma once

#include <deque>
#include <string>

#include "codegen/passes/place/Placement.h"
#include "codegen/passes/place/Plan.h"
#include "codegen/passes/place/memory/PlannedBuffer.h"

namespace wkvc {

class ProgramSpaces {
 public:
  // `spaces`: of the whole kernel, in which this program's phases begin with `first_phase`. Teams of warps have a slot
  // each, with everything of one chunk.
  ProgramSpaces(const Placement& of, const Plan& by, std::deque<SharedBuffer>& spaces, int first_phase)
      : placement(of), plan(by), spaces_(spaces), first_phase_(first_phase) {}

  chunk::ProgramOp program() const { return placement.program(); }

  // `from` and `to`: phases of the program.
  SharedBuffer* reserve(const std::string& name, std::int64_t bytes, int from, int to);
  PlannedBuffer reserve_floats(const std::string& name, int64_t count, int from, int to);
  // Returns whether those who prepare chunks have a buffer for themselves, which is read up to there.
  bool is_of_team(int last_phase) const;

  const Placement& placement;
  const Plan plan;

 private:
  std::deque<SharedBuffer>& spaces_;
  int first_phase_;
};

}  // namespace wkvc
