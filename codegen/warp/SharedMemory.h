// Offsets of shared buffers. Buffers whose lifetimes (in phases of a chunk) do not overlap share space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wkvc {

constexpr const char* kSlots = "slots";  // the channel of buffers that name no other one

struct SharedBuffer {
  std::string name;
  std::int64_t bytes = 0;
  // First phase that writes it, last that reads it; rings live in all phases, or from a later one over the end of a
  // round to an earlier one.
  int from = 0, to = 0;
  std::int64_t offset = -1;
  std::int64_t alignment = 16;   // a piece of cp.async, a row of ldmatrix
  bool of_team = false;          // where rounds take turns: for any round, as only those who prepare one use it
  std::string channel = kSlots;  // else, in a kernel of teams: in whose slots it lies
};

// Sets every offset (a multiple of its alignment) and returns the bytes needed: first fit, largest first.
std::int64_t allocate(std::vector<SharedBuffer*> buffers);

// A table of the buffers by offset, for messages and the emitted header.
std::string map_of(const std::vector<SharedBuffer>& buffers);

}  // namespace wkvc
