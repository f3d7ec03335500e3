// An entry of the cache as the bytes of its file: a magic that carries the format's version, the entry's id, its label,
// the payload, and a checksum over all of these. Internal to the runtime.
#pragma once

#include <string>
#include <string_view>

#include "runtime/cache/cache_key.h"

namespace wkvc {

struct CacheEntry {
  EntryId id;
  CacheLabel label;
  std::string payload;
};

std::string encode_entry(const EntryId& id, const CacheLabel& label, std::string_view payload);

// Throws UserError ("is cut short", …) unless every byte is as it was encoded.
CacheEntry decode_entry(std::string_view bytes);

std::string entry_name(const EntryId& id);  // of its file
bool is_entry_name(std::string_view name);
bool is_temporary_name(std::string_view name);  // of an entry that is being written, or whose writer was killed

}  // namespace wkvc
