// What belongs to a warp beside its registers.
#pragma once

#include "wkvc/host/copy_queue.h"

namespace wkvc::host {

struct Warp {
  CopyQueue copies;
};

// The warp that this thread runs; null where it runs none.
inline Warp*& running_warp() {
  thread_local Warp* warp = nullptr;
  return warp;
}

}  // namespace wkvc::host
