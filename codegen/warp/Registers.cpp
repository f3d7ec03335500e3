#include "codegen/warp/Registers.h"

#include <algorithm>

#include "codegen/instructions/WgmmaRegisters.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

// A thread has 16 rows by `columns` accumulators of its warp, and what ptxas needs beside.
int64_t registers_by_group(int64_t columns) { return columns / 2 + group_mma_registers; }

// As templates/wkvc/cuda/group_mma.h cuts them.
int64_t columns_at_once(int64_t columns, bool transposed) {
  const int64_t least = group_columns(transposed);
  return transposed && columns % (2 * least) == 0 ? 2 * least : least;
}

}  // namespace

int64_t least_registers(KernelOp kernel) {
  int64_t least = 0;
  kernel.walk([&](MmaOp op) {
    if (!op.isByGroups()) return;
    const int64_t columns = columns_at_once(op.getAcc().getType().getDimSize(1), op.getYTransposed());
    least = std::max(least, registers_by_group(columns));
  });
  return least;
}

int64_t least_registers_by_groups(int64_t keys) { return registers_by_group(columns_at_once(keys, true)); }

std::optional<RoleRegisters> role_registers(KernelOp kernel) {
  const auto& choices = sm_90a.choices;
  if (!has_producers(kernel) || !sm_90a.is_wide(kernel.getKeyDim())) return {};
  const int64_t of_state = row_warps(kernel), ahead = static_cast<int64_t>(kernel.getWarps()) - of_state;
  if (of_state % wgmma_registers.warps || ahead % wgmma_registers.warps) return {};
  const int64_t keys = kernel.getKeyDim(), rows = keys / 2 + keys / 4;  // of a state, and rounded
  const int64_t have = sm_90a.registers_of_thread(kernel.getBlocks(), kernel.getWarps());
  const int64_t spare = std::max<int64_t>(have - choices.registers_to_prepare, 0);
  const int64_t step = sm_90a.warp.register_granule / sm_90a.warp.threads;
  const auto in_steps = [&](int64_t registers) { return registers / step * step; };
  const int64_t state = in_steps(std::min(rows + choices.registers_beside_rows, have + spare * ahead / of_state));
  if (state <= have) return {};
  return RoleRegisters{state, in_steps(have - (state - have) * of_state / ahead)};
}

}  // namespace wkvc::warp
