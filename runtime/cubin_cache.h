// Compiled kernels by way of the cache.
#pragma once

#include <string>

#include "runtime/disk_cache.h"
#include "runtime/manifest.h"
#include "runtime/nvrtc.h"

namespace wkvc {

// compile_cubin for the manifest's architecture, unless `cache` has what it gave for the same text, templates, options
// and NVRTC. Then NVRTC is not even opened. The manifest, of any kernel in the text, tells what to call the entry.
// Throws as compile_cubin.
CubinResult cached_cubin(const std::string& kernel_source, const Manifest& manifest,
                         DiskCache& cache = DiskCache::shared());

}  // namespace wkvc
