#include "codegen/warp/Registers.h"

#include "codegen/target/Target.h"

namespace wkvc::warp {

namespace {

// A thread has 16 rows by `columns` accumulators of its warp, and what ptxas needs beside.
int64_t registers_by_group(int64_t columns) { return columns / 2 + sm_90a.group_mma.registers; }

// As templates/wkvc/cuda/group_mma.h cuts them.
int64_t columns_at_once(MmaOp op) {
  const int64_t least = group_columns(op.getYTransposed());
  const int64_t columns = op.getAcc().getType().getDimSize(1);
  return op.getYTransposed() && columns % (2 * least) == 0 ? 2 * least : least;
}

}  // namespace

int64_t least_registers(KernelOp kernel) {
  int64_t least = 0;
  kernel.walk([&](MmaOp op) {
    if (op.getByGroups()) least = std::max(least, registers_by_group(columns_at_once(op)));
  });
  return least;
}

}  // namespace wkvc::warp
