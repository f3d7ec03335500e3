// What was made once, in memory and on disk, by the key of everything that it was made from. Nothing here fails because
// of the cache: what cannot be kept on disk stays in memory, and what cannot be read is made again; a warning
// (runtime/warnings.h) says why. Thread-safe; many processes may share one directory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/cache/cache_directory.h"
#include "runtime/cache/cache_key.h"
#include "runtime/cache/cache_settings.h"
#include "runtime/cache/once_map.h"

namespace wkvc {

class DiskCache {
 public:
  explicit DiskCache(CacheSettings settings) : settings_(std::move(settings)) {}

  // The one of this process, set up as the environment says at the first call.
  static DiskCache& shared();

  // What is there of `key`, else what `make` gives, which is kept in memory for as long as this object and on disk. Who
  // asks for the same key meanwhile, in this process or another, waits for it. Throws what `make` throws, and then
  // keeps nothing. `make` must not ask for the same key.
  std::string find_or_make(const CacheKey& key, const std::function<std::string()>& make);

  // On disk only. An entry that is not exactly what was stored under this key is none.
  std::optional<std::string> find(const CacheKey& key) const;
  void store(const CacheKey& key, std::string_view payload) const;

 private:
  std::string find_on_disk_or_make(const EntryId& id, const CacheLabel& label,
                                   const std::function<std::string()>& make) const;
  std::optional<std::string> find(const EntryId& id) const;
  std::optional<std::string> read(const CacheDirectory& directory, const EntryId& id) const;
  void store(const EntryId& id, const CacheLabel& label, std::string_view payload) const;
  template <class Action>
  auto attempt(const Action& action) const -> decltype(action());

  CacheSettings settings_;
  OnceMap<std::string> memory_;  // by both halves of the id
};

}  // namespace wkvc
