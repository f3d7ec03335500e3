// Arithmetic on sizes that come from outside: empty instead of wrapping round.
#pragma once

#include <cstdint>
#include <optional>

namespace wkvc {

using CheckedInt = std::optional<std::int64_t>;

inline CheckedInt checked_mul(CheckedInt a, CheckedInt b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

inline CheckedInt checked_add(CheckedInt a, CheckedInt b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

}  // namespace wkvc
