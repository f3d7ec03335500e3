#include "runtime/cache/disk_cache.h"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <memory>

#include "runtime/base/files.h"
#include "runtime/cache/cache_entry.h"
#include "runtime/cache/cache_lock.h"
#include "runtime/cache/cache_upkeep.h"
#include "runtime/error.h"
#include "runtime/warnings.h"

namespace wkvc {
DiskCache& DiskCache::shared() {
  // Never destroyed: other threads may ask while the process ends.
  static auto* const cache = new DiskCache(cache_settings_from_environment());
  return *cache;
}

std::string DiskCache::find_or_make(const CacheKey& key, const std::function<std::string()>& make) {
  const EntryId id = key.id();
  return *memory_.find_or_make(hex(id.name) + hex(id.check), [&] {
    return std::make_shared<const std::string>(find_on_disk_or_make(id, key.label(), make));
  });
}

std::optional<std::string> DiskCache::find(const CacheKey& key) const { return find(key.id()); }

void DiskCache::store(const CacheKey& key, std::string_view payload) const { store(key.id(), key.label(), payload); }

std::string DiskCache::find_on_disk_or_make(const EntryId& id, const CacheLabel& label,
                                            const std::function<std::string()>& make) const {
  if (auto found = find(id)) return *std::move(found);
  const std::optional<CacheLock> lock =
      attempt([&] { return CacheLock::take(CacheDirectory::open(settings_.directory), id, settings_.patience); });
  if (auto found = find(id)) return *std::move(found);  // made while this one waited
  std::string made = make();
  store(id, label, made);
  return made;
}

std::optional<std::string> DiskCache::find(const EntryId& id) const {
  return attempt([&]() -> std::optional<std::string> {
    const auto directory = CacheDirectory::open_existing(settings_.directory);
    return directory ? read(*directory, id) : std::nullopt;
  });
}

std::optional<std::string> DiskCache::read(const CacheDirectory& directory, const EntryId& id) const {
  const std::string name = entry_name(id);
  try {
    const auto bytes = directory.read(name, settings_.max_bytes);
    if (!bytes) return std::nullopt;
    CacheEntry entry = decode_entry(*bytes);
    if (entry.id != id) user_error("is an entry of another key");
    directory.mark_used(name);
    return std::move(entry.payload);
  } catch (const UserError& fault) {
    warn_once(settings_.directory.string() + "/*",
              fmt::format("the cached file {} is made again: it {}", directory.path_of(name).string(), fault.what()));
    return std::nullopt;
  }
}

void DiskCache::store(const EntryId& id, const CacheLabel& label, std::string_view payload) const {
  attempt([&] {
    const std::string entry = encode_entry(id, label, payload);
    if (entry.size() > static_cast<std::size_t>(settings_.max_bytes)) return;  // it would be removed at once
    const CacheDirectory directory = CacheDirectory::open(settings_.directory);
    directory.make_room_for(entry_name(id));
    write_file_atomically(directory.path_of(entry_name(id)), std::array{std::string_view(entry)}, Readers::owner);
    trim_cache(directory, settings_.max_bytes);
  });
}

// What the action gives; a default where the cache is off, or, with one warning for all such troubles, cannot be used.
template <class Action>
auto DiskCache::attempt(const Action& action) const -> decltype(action()) {
  using Result = decltype(action());
  if (settings_.directory.empty()) return Result();
  try {
    return action();
  } catch (const std::exception& error) {
    warn_once(settings_.directory.string(), fmt::format("what is compiled stays in memory only: {}", error.what()));
    return Result();
  }
}

}  // namespace wkvc
