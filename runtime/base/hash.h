// Hashes that tell contents apart. They are no protection against somebody who wants two to collide.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace wkvc {

using Hash128 = std::array<std::uint64_t, 2>;

Hash128 hash128(std::string_view bytes, std::uint64_t seed = 0);

std::string hex(const Hash128& hash);          // 32 digits
std::string hex_hash(std::string_view bytes);  // hash128 as such digits
bool is_hex_hash(std::string_view text);       // whether it looks like one

}  // namespace wkvc
