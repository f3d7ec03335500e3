#include "runtime/nvrtc/nvrtc_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/nvrtc/nvrtc_library.h"
#include "runtime/nvrtc/nvrtc_search.h"
#include "runtime/tensor/sized_bytes.h"

namespace wkvc {
namespace {

// Changes with a file's contents, and with the names in a directory.
std::string stamp_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return "missing";
  return fmt::format("{} bytes, {}.{:09} s", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

void add_stamp(std::string& state, const std::string& path) { state += fmt::format("\n{}: {}", path, stamp_of(path)); }

// What decides which of the candidates is taken, and where the loader finds those that are given by their name.
std::string search_state(const std::vector<std::string>& candidates) {
  std::string state = "ld.so.cache: " + stamp_of("/etc/ld.so.cache");
  const char* paths = std::getenv("LD_LIBRARY_PATH");
  std::istringstream directories(paths != nullptr ? paths : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    add_stamp(state, directory);
    for (const char* name : nvrtc_names) add_stamp(state, directory + "/" + name);
  }
  for (const std::string& candidate : candidates) {
    const std::filesystem::path path = candidate;
    if (!path.has_parent_path()) continue;
    add_stamp(state, candidate);
    add_stamp(state, path.parent_path().string());
  }
  return state;
}

CacheKey search_key(const std::vector<std::string>& candidates) {
  CacheKey key({.step = "where NVRTC is", .op = {}, .config = {}, .arch = {}, .tool = {}});
  std::error_code unknown;
  key.add("program", std::filesystem::read_symlink("/proc/self/exe", unknown).string());  // may have paths of its own
  for (const std::string& candidate : candidates) key.add("candidate", candidate);
  return key;
}

std::string packed(const std::string& state, const std::string& file, const NvrtcIdentity& identity) {
  std::string bytes;
  for (const std::string& piece : {state, file, identity.version, identity.stamp}) append_sized(bytes, piece);
  return bytes;
}

// Empty unless everything is as it was when the answer was found.
std::optional<NvrtcIdentity> still_valid(std::string_view bytes, const std::string& state) {
  const auto before = take_sized(bytes), file = take_sized(bytes);
  const auto version = take_sized(bytes), stamp = take_sized(bytes);
  if (before != state || !file || !version || !stamp || stamp_of(std::string(*file)) != *stamp) return std::nullopt;
  return NvrtcIdentity{.version = std::string(*version), .stamp = std::string(*stamp)};
}

NvrtcIdentity identify(const DiskCache& cache) {
  const std::vector<std::string> candidates = nvrtc_candidates();
  const CacheKey key = search_key(candidates);
  const std::string state = search_state(candidates);
  if (const auto found = cache.find(key)) {
    if (auto identity = still_valid(*found, state)) return *std::move(identity);
  }
  const std::string file = nvrtc_library().library.file();
  NvrtcIdentity identity{.version = nvrtc_library().release(), .stamp = stamp_of(file)};
  cache.store(key, packed(state, file, identity));
  return identity;
}

}  // namespace

NvrtcIdentity nvrtc_identity(const DiskCache& cache) {
  static const NvrtcIdentity identity = identify(cache);  // tried again when it throws
  return identity;
}

}  // namespace wkvc
