#include "codegen/passes/chunk_to_warp/CombiningBlock.h"

#include "codegen/warp/Warp.h"
#include "runtime/error.h"

namespace wkvc {

namespace {

// Returns the largest divisor of `count` below `more`.
int64_t smaller_divisor(int64_t count, int64_t more) {
  do --more;
  while (count % more != 0);
  return more;
}

// Returns as many strips as the blocks of a sequence need to have all strips of a state, in as many warps as are left.
int64_t strips_of_block(int64_t strips, int64_t blocks, int64_t warps) {
  constexpr int64_t most_warps = 16;
  int64_t chosen = 1;
  for (int64_t n = 2; n <= strips && n * warps <= most_warps && chosen * blocks < strips; ++n) {
    if (strips % n == 0) chosen = n;
  }
  return chosen;
}

// Returns the shared memory of a block that combines segments, as `combining_bytes` has it in
// templates/wkvc/common/global/segments.h: rows of maps, and two tiles for each strip of the state.
int64_t combining_bytes(int64_t keys, const CombiningBlock& block) {
  constexpr int64_t stages = 3, padding = 4;
  const int64_t maps = stages * block.map_rows * (keys + padding);
  return (maps + 2LL * block.strips * 16 * (keys + warp::kRowPadding)) * static_cast<int64_t>(sizeof(float));
}

}  // namespace

CombiningBlock combining_block(chunk::ProgramOp summary) {
  constexpr int64_t most_numbers = 64 * 128;  // of a map at once
  const auto keys = static_cast<int64_t>(summary.getKeyDim());
  const auto strips = static_cast<int64_t>(summary.getValueDim()) / 16;
  CombiningBlock block{.strips = strips_of_block(strips, static_cast<int64_t>(summary.getSegments()), keys / 16)};
  if (*summary.getSummary() != "full") return block;
  block.map_rows = keys;
  const auto budget = static_cast<int64_t>(summary.getSramBudget());
  while (block.map_rows * keys > most_numbers || combining_bytes(keys, block) > budget) {
    if (block.map_rows > 16)
      block.map_rows = 16 * smaller_divisor(keys / 16, block.map_rows / 16);
    else if (block.strips > 1)
      block.strips = smaller_divisor(strips, block.strips);
    else
      user_error(
          "combining segments of '{}' with head {}x{} needs {} bytes of shared memory, the budget is {}; use "
          "--segments 1 or a larger --sram",
          summary.getRecurrence().str(), keys, 16 * strips, combining_bytes(keys, block), budget);
  }
  block.bytes = combining_bytes(keys, block);
  return block;
}

}  // namespace wkvc
