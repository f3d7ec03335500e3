// Where the cache of compiled kernels is and how large it may grow, as the environment has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace wkvc {

struct CacheSettings {
  std::filesystem::path directory;                   // empty: the cache is off, everything stays in memory
  std::string why_off;                               // where it is off
  std::int64_t max_bytes = std::int64_t{512} << 20;  // of all entries together
  // How long to wait for another process that makes the same entry; after that it is made twice.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
};

// The directory is $WKVC_CACHE_DIR (empty: off; as folder_from has it), else $XDG_CACHE_HOME/wkvc, else
// $HOME/.cache/wkvc; the bound is $WKVC_CACHE_BYTES, a whole number; any other is warned of and counts for nothing.
CacheSettings cache_settings_from_environment();

}  // namespace wkvc
