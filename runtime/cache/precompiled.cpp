#include "runtime/cache/precompiled.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

#include "runtime/base/dynamic_library.h"
#include "runtime/base/files.h"
#include "runtime/base/folders.h"
#include "runtime/cache/cache_entry.h"
#include "runtime/cache/cubin_payload.h"
#include "runtime/cuda/driver.h"
#include "runtime/error.h"
#include "runtime/tensor/sized_bytes.h"
#include "runtime/warnings.h"

namespace wkvc {
namespace {

// Whichever NVRTC compiled it: the payload says which one did.
CacheKey key_of(const std::string& source, const Manifest& manifest, const NvrtcOptions& options) {
  CacheKey key({.step = "precompiled cubin",
                .op = options.only_kernel.empty() ? manifest.op : manifest.kernel,
                .config = manifest.config,
                .arch = manifest.arch,
                .tool = "NVRTC"});
  key.add("variant", fmt::format("{:d}{:d}{:d}", options.line_info, options.aligned, options.sequences));
  key.add("kernel", options.only_kernel);
  add_text(key, source);
  return key;
}

// Returns 13 of "13.0"; 0 for what is no version.
int major_of(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

std::optional<std::string> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

PrecompiledKernels PrecompiledKernels::from_environment() {
  if (const auto folder = folder_from("WKVC_KERNELS")) return PrecompiledKernels(*folder);
  const std::filesystem::path own = own_file();
  return PrecompiledKernels(own.empty() ? own : own.parent_path() / "kernels");
}

std::optional<CubinResult> PrecompiledKernels::find(const std::string& kernel_source, const Manifest& manifest,
                                                    const NvrtcOptions& options, std::string_view driver) const {
  if (folder_.empty()) return std::nullopt;
  const EntryId id = key_of(kernel_source, manifest, options).id();
  const std::filesystem::path path = folder_ / entry_name(id);
  const auto bytes = bytes_of(path);
  if (!bytes) return std::nullopt;
  try {
    const CacheEntry entry = decode_entry(*bytes);
    if (entry.id != id) user_error("is an entry of another key");
    std::string_view payload = entry.payload;
    const auto nvrtc = take_sized(payload);
    if (!nvrtc || major_of(*nvrtc) > major_of(driver)) return std::nullopt;
    return unpacked(payload);
  } catch (const UserError& fault) {
    warn_once(path.string(), fmt::format("the precompiled kernel {} is not used: it {}", path.string(), fault.what()));
    return std::nullopt;
  }
}

std::optional<CubinResult> PrecompiledKernels::find(const std::string& kernel_source, const Manifest& manifest,
                                                    const NvrtcOptions& options) const {
  std::error_code ignored;
  if (folder_.empty() || !std::filesystem::is_directory(folder_, ignored) || !cuda_available(nullptr))
    return std::nullopt;
  return find(kernel_source, manifest, options, driver_version());
}

void PrecompiledKernels::store(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options,
                               const CubinResult& result, std::string_view nvrtc) const {
  const CacheKey key = key_of(kernel_source, manifest, options);
  std::string payload;
  append_sized(payload, nvrtc);
  payload += packed(result);
  const std::string entry = encode_entry(key.id(), key.label(), payload);
  write_file_atomically(folder_ / entry_name(key.id()), std::array{std::string_view(entry)});
}

}  // namespace wkvc
