// Compiled kernels by way of the cache.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/cache/disk_cache.h"
#include "runtime/manifest/manifest.h"
#include "runtime/nvrtc/nvrtc.h"

namespace wkvc {

// compile_cubin for the manifest's architecture, unless the kernel was precompiled (precompiled.h) or `cache` has what
// compile_cubin gave for the same text, templates, options and NVRTC. Then NVRTC is not even opened. The manifest, of
// any kernel in the text or of the only one that is wanted, tells what to call the entry. Throws as compile_cubin.
CubinResult cached_cubin(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options = {},
                         DiskCache& cache = DiskCache::shared());

// The same of the NVRTC that is here: not precompiled.
CubinResult compiled_cubin(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options = {},
                           DiskCache& cache = DiskCache::shared());

// How the kernel of a text with so many kernels is compiled for nearly all launches: for rows that are aligned, in a
// cubin of its own that has no code of the others.
NvrtcOptions usual_options(std::span<const Manifest> manifests, const Manifest& kernel);

// How the kernel is compiled for other launches, in a cubin of its own.
NvrtcOptions variant_options(const Manifest& kernel, bool aligned, bool sequences);

// The kernels of a text with usual_options, compiled side by side where there are processors for it.
std::vector<CubinResult> cached_cubins(const std::string& kernel_source, std::span<const Manifest> manifests,
                                       DiskCache& cache = DiskCache::shared());
// The same without looking into a cache, or leaving anything there.
std::vector<CubinResult> compile_cubins(const std::string& kernel_source, std::span<const Manifest> manifests);

}  // namespace wkvc
