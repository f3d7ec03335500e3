// How many blocks of a kernel fit on one SM of sm_90, and what keeps more away.
#pragma once

#include <cstdint>
#include <string>

namespace wkvc {

struct Occupancy {
  int blocks = 0;
  std::string limit;  // "registers", "shared memory", "warps" or "blocks"
};

// `registers` of one thread, `warps` and `shared_bytes` (static and dynamic) of one block.
Occupancy occupancy_of(int registers, int warps, std::int64_t shared_bytes);

}  // namespace wkvc
