#include "codegen/passes/place/memory/ProgramSpaces.h"

namespace wkvc {

bool ProgramSpaces::is_of_team(int last_phase) const {
  return plan.goes_ahead() && last_phase < placement.first_of_rows();
}

SharedBuffer* ProgramSpaces::reserve(const std::string& name, std::int64_t bytes, int from, int to) {
  if (const int first = placement.first_of_rows(); placement.division().together) {  // two phases that are one
    if (from == first + 1) from = first;
    if (to == first) to = first + 1;
  }
  SharedBuffer& space = spaces_.emplace_back(SharedBuffer{name, bytes, first_phase_ + from, first_phase_ + to, -1});
  space.of_team = is_of_team(to);
  return &space;
}

PlannedBuffer ProgramSpaces::reserve_floats(const std::string& name, int64_t count, int from, int to) {
  PlannedBuffer buffer;
  buffer.type = floats_type(program().getContext(), count);
  buffer.space = reserve(name, warp::shared_bytes(buffer.type), from, to);
  return buffer;
}

}  // namespace wkvc
