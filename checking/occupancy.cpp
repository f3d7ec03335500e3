#include "checking/occupancy.h"

#include <algorithm>
#include <array>

#include "codegen/target/Target.h"

namespace wkvc {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

Occupancy occupancy_of(int registers, int warps, std::int64_t shared_bytes) {
  constexpr const GpuTarget& target = sm_90a;
  struct Limit {
    std::int64_t blocks;
    const char* name;
  };
  const std::int64_t warp_registers = std::max<std::int64_t>(
      1, rounded_up(std::int64_t{registers} * target.warp.threads, target.warp.register_granule));
  // Warps are spread over the SM's schedulers, which have their own registers.
  const std::int64_t fitting_warps = target.sm.registers / target.sm.schedulers / warp_registers * target.sm.schedulers;
  const std::array<Limit, 4> limits{
      {{target.sm.shared_bytes / rounded_up(shared_bytes + target.block.reserved_bytes, target.block.shared_granule),
        "shared memory"},
       {fitting_warps / std::max(1, warps), "registers"},
       {target.sm.warps / std::max(1, warps), "warps"},
       {target.sm.blocks, "blocks"}}};
  const auto least = std::ranges::min_element(limits, {}, &Limit::blocks);
  return {static_cast<int>(least->blocks), least->name};
}

}  // namespace wkvc
