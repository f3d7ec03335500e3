// A family of instructions that multiply tiles: the tiles that it takes, where they lie, and what it costs.
#pragma once

#include <cstdint>
#include <string_view>

#include "codegen/instructions/Layout.h"

namespace wkvc {

struct InstructionFamily {
  std::string_view name;
  Layout x, y, sums;         // sums (+)= x · y
  bool is_async;             // issued and awaited apart, so that other work stands between
  int warps;                 // that go together
  std::int64_t rows;         // of x, a multiple, for those warps
  std::int64_t depth_bytes;  // of a row of x, a multiple
  std::int64_t columns;      // of y, a multiple
  std::int64_t most_columns;

  constexpr bool is_of_groups() const { return warps > 1; }
};

}  // namespace wkvc
