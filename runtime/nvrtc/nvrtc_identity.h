// Which NVRTC compiles. Internal to the runtime.
#pragma once

#include <string>

#include "runtime/cache/disk_cache.h"

namespace wkvc {

struct NvrtcIdentity {
  std::string version;  // "13.0", which updates of it share
  std::string stamp;    // size and time of its file
};

// Of the library that nvrtc_library() opens. Opening it takes longer than loading a cached kernel, so that the answer
// is kept in `cache` together with everything that the search for it looked at, and found again while all of that is as
// it was. Throws UserError when there is no NVRTC.
NvrtcIdentity nvrtc_identity(const DiskCache& cache);

}  // namespace wkvc
