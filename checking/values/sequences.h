// The sequences of a launch, of which the recurrence takes one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/launch/launch_size.h"

namespace wkvc {

// Where sequences lie, in the host's memory; a launch's maps point there, or to copies.
struct Sequences {
  std::vector<std::int64_t> starts;  // empty: every batch is a sequence
  std::vector<std::int32_t> slots;   // empty: sequence n has state n
};

// Throws UserError, beginning with `where`, unless starts begin at 0, never decrease and end at `tokens`.
void check_starts(const std::vector<std::int64_t>& starts, std::int64_t tokens, const std::string& where);
// Throws UserError, beginning with `where`, unless each of `sequences` has a slot of its own, from 0 to before `count`.
void check_slots(const std::vector<std::int32_t>& slots, std::int64_t sequences, std::int64_t count,
                 const std::string& where);

// `size` with maps that point to `sequences`.
LaunchSize with_maps(LaunchSize size, const Sequences& sequences);

// A size as --shape has it, "1,5+0+7,8/2": lengths of sequences one behind the other in place of T, and behind H the
// number of shared heads.
struct Shape {
  LaunchSize size;
  std::shared_ptr<const Sequences> sequences;  // null where there are no lengths
};
Shape parse_sequences(const std::string& text);

}  // namespace wkvc
