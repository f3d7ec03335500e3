// What the caller of a host kernel passes and gets back. Includes nothing, so a runtime can share it.
//   int kernel(const void* args, wkvc::host::Launch* launch);   // kDone, or another number with launch->message set
#pragma once

namespace wkvc::host {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kStarved = 2;  // the machine had too little for the launch

struct Launch {
  long long shared_bytes;     // shared memory of a block
  double stall_seconds = 20;  // without any progress for so long, warps that are threads are in a deadlock
  char message[256] = {};
  long long blocks = 0;   // as many, in the order of batches, heads, segments; 0: one for each of them
  long long threads = 0;  // at most so many run clusters side by side; 0: as many as there are cores
};

}  // namespace wkvc::host
