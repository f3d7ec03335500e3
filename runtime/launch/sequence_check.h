// Where sequences and their states lie, looked at by a host that has the numbers in its memory. Internal to wkvc.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/launch/launch_size.h"

namespace wkvc {

// Throws UserError, beginning with `where`, unless starts begin at 0, never decrease and end within the tokens.
void expect_starts(std::span<const std::int64_t> starts, std::int64_t tokens, const std::string& where);

// Throws UserError, beginning with `where`, for a slot from `count` on, and for one that two sequences have. A negative
// number is no slot. `or_else`: what the message says behind the slots that are expected.
void expect_slots(std::span<const std::int32_t> slots, std::int64_t count, const std::string& where,
                  std::string_view or_else = "");

// The same for the maps of a launch whose memory is the host's. A launch with a report is let through: kernels tell.
void expect_sequences(const LaunchSize& size);

}  // namespace wkvc
