#include "codegen/warp/Registers.h"

namespace wkvc::warp {

namespace {

constexpr int64_t kOfMultiprocessor = 65536, kMostOfThread = 255, kUnit = 8, kThreads = 32;  // sm_90

// An instruction of four warps has its accumulators, four registers of its first operand and two of its second one's
// descriptor at once, beside 24 that ptxas keeps apart: it refuses one by 16, 64, 128 or 256 columns with fewer than
// 38, 62, 94 or 158 (CUDA 13).
int64_t registers_by_group(int64_t columns) { return columns / 2 + 4 + 2 + 24; }

// As templates/wkvc/cuda/group_mma.h cuts them.
int64_t columns_at_once(MmaOp op) {
  const int64_t least = group_columns(op.getYTransposed());
  const int64_t columns = op.getAcc().getType().getDimSize(1);
  return op.getYTransposed() && columns % (2 * least) == 0 ? 2 * least : least;
}

}  // namespace

int64_t registers_of_thread(int64_t blocks, int64_t warps) {
  return std::min(kMostOfThread, kOfMultiprocessor / (blocks * warps * kThreads) / kUnit * kUnit);
}

int64_t most_warps(int64_t registers) {
  return kOfMultiprocessor / ((registers + kUnit - 1) / kUnit * kUnit * kThreads);
}

int64_t least_registers(KernelOp kernel) {
  int64_t least = 0;
  kernel.walk([&](MmaOp op) {
    if (op.getByGroups()) least = std::max(least, registers_by_group(columns_at_once(op)));
  });
  return least;
}

}  // namespace wkvc::warp
