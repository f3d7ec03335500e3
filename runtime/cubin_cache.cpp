#include "runtime/cubin_cache.h"

#include <future>
#include <string_view>

#include "runtime/embedded.h"
#include "runtime/error.h"
#include "runtime/nvrtc_identity.h"
#include "runtime/sized_bytes.h"

namespace wkvc {
namespace {

CacheKey key_of(const std::string& source, const Manifest& manifest, const NvrtcOptions& options,
                const NvrtcIdentity& nvrtc) {
  CacheKey key({.step = "cubin",
                .op = manifest.op,
                .config = manifest.config,
                .arch = manifest.arch,
                .tool = "NVRTC " + nvrtc.version});
  key.add("NVRTC's file", nvrtc.stamp);
  for (const std::string& option : nvrtc_options(manifest.arch, options, nvrtc.version)) key.add("option", option);
  for (const EmbeddedHeader& header : embedded_headers()) key.add(header.name, header.text);
  key.add("source", source);
  return key;
}

std::string packed(const CubinResult& result) {
  std::string bytes;
  append_sized(bytes, {result.cubin.data(), result.cubin.size()});
  append_sized(bytes, result.log);
  return bytes;
}

CubinResult unpacked(std::string_view bytes) {
  const auto cubin = take_sized(bytes), log = take_sized(bytes);
  if (!cubin || !log) internal_error("a cached cubin is not what was put into the cache");
  return {.cubin = {cubin->begin(), cubin->end()}, .log = std::string(*log)};
}

}  // namespace

CubinResult cached_cubin(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options,
                         DiskCache& cache) {
  const CacheKey key = key_of(kernel_source, manifest, options, nvrtc_identity(cache));
  return unpacked(
      cache.find_or_make(key, [&] { return packed(compile_cubin(kernel_source, manifest.arch, options)); }));
}

std::vector<CubinResult> cached_cubins(const std::string& kernel_source, std::span<const Manifest> manifests,
                                       DiskCache& cache) {
  if (manifests.size() == 1) return {cached_cubin(kernel_source, manifests.front(), {}, cache)};
  std::vector<std::future<CubinResult>> running;
  for (const Manifest& manifest : manifests) {
    running.push_back(std::async(std::launch::async, [&] {
      return cached_cubin(kernel_source, manifest, {.only_kernel = manifest.kernel}, cache);
    }));
  }
  std::vector<CubinResult> results;
  for (std::future<CubinResult>& result : running) results.push_back(result.get());
  return results;
}

}  // namespace wkvc
