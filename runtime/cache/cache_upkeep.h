// What is done with the entries of the cache as a whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/cache/cache_directory.h"
#include "runtime/cache/cache_key.h"
#include "runtime/cache/cache_settings.h"

namespace wkvc {

struct ListedEntry {
  std::string name;  // of its file
  std::int64_t bytes = 0;
  std::chrono::system_clock::time_point used;  // written, or last found
  CacheLabel label;                            // empty where there is a fault
  std::string fault;                           // "does not fit its checksum": it will not be used
};

struct Removed {
  std::int64_t entries = 0, bytes = 0;
};

// Every entry, the last used first, each read as a whole. None where there is no such directory. Throws UserError where
// it is not a private one, as clear_cache does.
std::vector<ListedEntry> list_cache(const CacheSettings& settings);

// Removes all entries, and what killed processes left behind an hour ago or earlier. Nothing else in the directory is
// touched.
Removed clear_cache(const std::filesystem::path& directory);

// Removes entries, the least recently used first, until all together have at most `max_bytes`, and left-overs as
// clear_cache does.
void trim_cache(const CacheDirectory& directory, std::int64_t max_bytes);

}  // namespace wkvc
