#include "runtime/cache/cubin_cache.h"

#include "runtime/base/side_by_side.h"
#include "runtime/cache/cubin_payload.h"
#include "runtime/cache/precompiled.h"
#include "runtime/nvrtc/nvrtc_identity.h"

namespace wkvc {
namespace {

CacheKey key_of(const std::string& source, const Manifest& manifest, const NvrtcOptions& options,
                const NvrtcIdentity& nvrtc) {
  CacheKey key({.step = "cubin",
                .op = options.only_kernel.empty() ? manifest.op : manifest.kernel,
                .config = manifest.config,
                .arch = manifest.arch,
                .tool = "NVRTC " + nvrtc.version});
  key.add("NVRTC's file", nvrtc.stamp);
  for (const std::string& option : nvrtc_options(manifest.arch, options, nvrtc.version)) key.add("option", option);
  add_text(key, source);
  return key;
}

// What `compile` gives for each kernel of a text.
template <class Compile>
std::vector<CubinResult> each_kernel(std::span<const Manifest> manifests, const Compile& compile) {
  std::vector<CubinResult> results(manifests.size());
  side_by_side(manifests.size(),
               [&](std::size_t i) { results[i] = compile(manifests[i], usual_options(manifests, manifests[i])); });
  return results;
}

}  // namespace

NvrtcOptions usual_options(std::span<const Manifest> manifests, const Manifest& kernel) {
  return {.only_kernel = manifests.size() == 1 ? "" : kernel.kernel, .aligned = true};
}

NvrtcOptions variant_options(const Manifest& kernel, bool aligned, bool sequences) {
  return {.only_kernel = kernel.kernel, .aligned = aligned, .sequences = sequences};
}

CubinResult cached_cubin(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options,
                         DiskCache& cache) {
  if (auto found = PrecompiledKernels::from_environment().find(kernel_source, manifest, options))
    return *std::move(found);
  return compiled_cubin(kernel_source, manifest, options, cache);
}

CubinResult compiled_cubin(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options,
                           DiskCache& cache) {
  const CacheKey key = key_of(kernel_source, manifest, options, nvrtc_identity(cache));
  return unpacked(
      cache.find_or_make(key, [&] { return packed(compile_cubin(kernel_source, manifest.arch, options)); }));
}

std::vector<CubinResult> cached_cubins(const std::string& kernel_source, std::span<const Manifest> manifests,
                                       DiskCache& cache) {
  return each_kernel(manifests, [&](const Manifest& manifest, const NvrtcOptions& options) {
    return cached_cubin(kernel_source, manifest, options, cache);
  });
}

std::vector<CubinResult> compile_cubins(const std::string& kernel_source, std::span<const Manifest> manifests) {
  return each_kernel(manifests, [&](const Manifest& manifest, const NvrtcOptions& options) {
    return compile_cubin(kernel_source, manifest.arch, options);
  });
}

}  // namespace wkvc
