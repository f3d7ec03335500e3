#include "runtime/base/hash.h"

#include <fmt/format.h>

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wkvc {

Hash128 hash128(std::string_view bytes, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.high64, hash.low64};
}

std::string hex(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash[0], hash[1]); }

std::string hex_hash(std::string_view bytes) { return hex(hash128(bytes)); }

bool is_hex_hash(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 32 && std::all_of(text.begin(), text.end(), digit);
}

}  // namespace wkvc
