// Hashes that tell contents apart. They are no protection against somebody who wants two to collide.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace wkvc {

using Hash128 = std::array<std::uint64_t, 2>;

Hash128 hash128(std::string_view bytes, std::uint64_t seed = 0);

std::string hex(const Hash128& hash);  // 32 digits

}  // namespace wkvc
