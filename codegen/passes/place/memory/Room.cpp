#include "codegen/passes/place/memory/Room.h"

#include <algorithm>

#include "codegen/ir/NoRoom.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/place/TeamOptions.h"
#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

// Bytes of a guard's words beside what a block's buffers take (shared_word in templates/wkvc/cuda/ptx.h).
static constexpr int64_t kGuardBytes = 8;

int64_t block_bytes(chunk::ProgramOp program, const KernelMemory& memory, const Plan& plan) {
  const bool has_words = program.getPlain() && (plan.cluster > 1 || (plan.goes_ahead() && refuses_early(program)));
  return memory.bytes() + (has_words ? kGuardBytes : 0);
}

int64_t blocks_per_sm(chunk::ProgramOp program, int warps, int64_t shared) {
  int64_t by_shared = sm_90a.blocks_by_shared(shared);
  int64_t states = program.getBackward() ? 2 * program.getKeyDim() : program.getKeyDim() / 4;
  int64_t registers = std::min<int64_t>(sm_90a.warp.registers, sm_90a.choices.registers_beside_state + states);
  int64_t by_registers = sm_90a.sm.registers / (registers * warps * sm_90a.warp.threads);
  return std::max<int64_t>(1, std::min(by_shared, by_registers));
}

int64_t checked_blocks(chunk::ProgramOp program, int warps, int64_t blocks, int64_t shared) {
  const int64_t most = std::min<int64_t>(sm_90a.blocks_by_shared(shared), sm_90a.sm.warps / warps);
  if (blocks <= most) return blocks;
  if (program.getRefused()) return most;
  user_error(
      "--blocks {}: a multiprocessor holds at most {} of the {} kernel of '{}', each of {} warps and {} bytes of "
      "shared "
      "memory",
      blocks, most == 1 ? "one block" : fmt::format("{} blocks", most), program.getBackward() ? "backward" : "forward",
      program.getRecurrence().str(), warps, shared);
}

// What takes less shared memory, or allows more, and is still to be had.
static std::string smaller_options(chunk::ProgramOp program, const Plan& plan) {
  auto inputs = program.getBody().getOps<chunk::InputOp>();
  llvm::SmallVector<std::string> options;
  auto add = [&](bool possible, const char* option) {
    if (possible) options.emplace_back(option);
  };
  llvm::append_range(options, smaller_teams(program, plan));
  add(program.getChunk() > 16, "a smaller --chunk");
  llvm::append_range(options, program.optionsOfHead());
  add(!inputs.empty() && chunk::element((*inputs.begin()).getResult()).isF32(), "a narrower --io");
  add(rec::has_wide_range(program.getCompute()), "a narrower --mma");
  add(!program.getBody().getOps<chunk::LevelPairsOp>().empty(), "log decays that are declared near 0, .in(lo, 0)");
  add(program.getSramBudget() < static_cast<uint64_t>(sm_90a.block.shared_bytes), "a larger --sram");
  return alternatives(options);
}

void check_budget(chunk::ProgramOp program, const KernelMemory& memory, const Plan& plan) {
  const int64_t budget = program.getSramBudget(), bytes = block_bytes(program, memory, plan);
  if (bytes <= budget) return;
  no_room_at(program,
             "{}'{}' with chunk {} and head {} needs {} bytes of shared memory{}{}, the budget is {}; use {}. Its "
             "buffers:\n{}",
             program.getSummary() ? "the summary of segments of " : "", program.getRecurrence().str(),
             program.getChunk(), program.headText(), bytes,
             program.getRefused() ? " for what is refused without scales" : "", teams_text(plan), budget,
             smaller_options(program, plan), map_of({memory.spaces().begin(), memory.spaces().end()}));
}

}  // namespace wkvc
