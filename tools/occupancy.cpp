#include "tools/occupancy.h"

#include <algorithm>
#include <array>

namespace wkvc {
namespace {

constexpr std::int64_t sm_registers = 65536, sm_warps = 64, sm_blocks = 32, sm_shared = 228 * 1024;
constexpr std::int64_t reserved_shared = 1024;  // of a block, by the system
constexpr std::int64_t register_granule = 256;  // of a warp
constexpr std::int64_t shared_granule = 128;

std::int64_t rounded_up(std::int64_t value, std::int64_t granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

Occupancy occupancy_of(int registers, int warps, std::int64_t shared_bytes) {
  struct Limit {
    std::int64_t blocks;
    const char* name;
  };
  const std::int64_t warp_registers =
      std::max<std::int64_t>(1, rounded_up(std::int64_t{registers} * 32, register_granule));
  // Warps are spread over the SM's four schedulers, which have their own registers.
  const std::int64_t fitting_warps = sm_registers / 4 / warp_registers * 4;
  const std::array<Limit, 4> limits{
      {{sm_shared / rounded_up(shared_bytes + reserved_shared, shared_granule), "shared memory"},
       {fitting_warps / std::max(1, warps), "registers"},
       {sm_warps / std::max(1, warps), "warps"},
       {sm_blocks, "blocks"}}};
  const auto least = std::ranges::min_element(limits, {}, &Limit::blocks);
  return {static_cast<int>(least->blocks), least->name};
}

}  // namespace wkvc
