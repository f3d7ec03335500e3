#include "runtime/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wkvc {

Hash128 hash128(std::string_view bytes, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.high64, hash.low64};
}

std::string hex(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash[0], hash[1]); }

}  // namespace wkvc
