#include "runtime/cache/cache_upkeep.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/cache/cache_entry.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// The last used first.
std::vector<CacheFile> entries_in(const CacheDirectory& directory) {
  std::vector<CacheFile> files = directory.files();
  std::erase_if(files, [](const CacheFile& file) { return !is_entry_name(file.name); });
  std::ranges::sort(files, std::ranges::greater(), &CacheFile::used);
  return files;
}

// Those of processes that may still be writing are kept.
void remove_leftovers(const CacheDirectory& directory) {
  const auto hour_ago = std::chrono::system_clock::now() - std::chrono::hours(1);
  for (const CacheFile& file : directory.files()) {
    if (is_temporary_name(file.name) && file.used < hour_ago) directory.remove(file.name);
  }
}

CacheLabel label_of(const CacheDirectory& directory, const CacheFile& file, std::int64_t max_bytes) {
  const auto bytes = directory.read(file.name, max_bytes);
  if (!bytes) user_error("was removed meanwhile");
  CacheEntry entry = decode_entry(*bytes);
  if (entry_name(entry.id) != file.name) user_error("has the name of another entry");
  return std::move(entry.label);
}

ListedEntry listed(const CacheDirectory& directory, const CacheFile& file, std::int64_t max_bytes) {
  ListedEntry entry{.name = file.name, .bytes = file.bytes, .used = file.used, .label = {}, .fault = {}};
  try {
    entry.label = label_of(directory, file, max_bytes);
  } catch (const UserError& error) {
    entry.fault = error.what();
  }
  return entry;
}

}  // namespace

std::vector<ListedEntry> list_cache(const CacheSettings& settings) {
  const auto opened = CacheDirectory::open_existing(settings.directory);
  if (!opened) return {};
  std::vector<ListedEntry> entries;
  for (const CacheFile& file : entries_in(*opened)) entries.push_back(listed(*opened, file, settings.max_bytes));
  return entries;
}

Removed clear_cache(const std::filesystem::path& directory) {
  const auto opened = CacheDirectory::open_existing(directory);
  if (!opened) return {};
  Removed removed;
  for (const CacheFile& file : entries_in(*opened)) {
    if (!opened->remove(file.name)) continue;
    ++removed.entries;
    removed.bytes += file.bytes;
  }
  remove_leftovers(*opened);
  return removed;
}

void trim_cache(const CacheDirectory& directory, std::int64_t max_bytes) {
  remove_leftovers(directory);
  std::vector<CacheFile> entries = entries_in(directory);
  std::int64_t total = 0;
  for (const CacheFile& entry : entries) total += entry.bytes;
  for (; total > max_bytes; entries.pop_back()) {
    directory.remove(entries.back().name);
    total -= entries.back().bytes;
  }
}

}  // namespace wkvc
