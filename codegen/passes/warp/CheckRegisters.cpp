#include "codegen/passes/warp/CheckRegisters.h"

#include <fmt/format.h>

#include "codegen/passes/place/Plan.h"
#include "codegen/passes/place/TeamOptions.h"
#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Registers.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

// The options with which a block has at most so many warps for all blocks of a multiprocessor.
static std::string fewer_warps(warp::KernelOp kernel, int64_t most_warps) {
  const char* first = kernel.getBackward() ? "N," : "";
  const auto warps = static_cast<int64_t>(kernel.getWarps());
  if (const int64_t blocks = most_warps / warps; blocks > 0) return fmt::format("--blocks {}{}", first, blocks);
  const int64_t rows = warp::row_warps(kernel), maps = warp::map_rows(kernel) / 16;
  const bool ahead = has_producers(kernel);
  llvm::SmallVector<std::string> options;
  if (const int64_t copies = (most_warps - rows) / warp::team_warps(kernel); ahead && copies > 1)
    options.push_back(teams_option(static_cast<int>(copies), ahead));
  const int64_t cluster = 2 * kernel.getCluster();
  if (ahead && rec::is_cluster(cluster) && rows % 2 == 0 && warps - rows / 2 <= most_warps)
    options.push_back(fmt::format("--cluster {}", cluster));
  if (ahead && rows <= most_warps && rows % kernel.getTeams() == 0) options.emplace_back("--rounds 1");
  if (maps && warps - maps <= most_warps) options.push_back(fmt::format("--segments {}1", first));
  if (const auto none = no_teams_option(kernel.getTeams(), ahead, first); !llvm::is_contained(options, none))
    options.push_back(none);
  return alternatives(options);
}

void check_registers(warp::KernelOp kernel) {
  const int64_t blocks = kernel.getBlocks(), least = warp::least_registers(kernel);
  const auto warps = static_cast<int64_t>(kernel.getWarps());
  const int64_t have = sm_90a.registers_of_thread(blocks, warps);
  if (have >= least) return;
  user_error(
      "{}: the {} kernel{} of '{}' has {} warps, so that with {} a multiprocessor a thread has {} registers; "
      "contractions of its groups of warps take at least {}: use {}",
      teams_option(kernel.getTeams(), has_producers(kernel)), kernel.getBackward() ? "backward" : "forward",
      kernel.getSummary() ? " for segments" : "", kernel.getOp().str(), warps,
      blocks == 1 ? "one block" : fmt::format("{} blocks", blocks), have, least,
      fewer_warps(kernel, sm_90a.warps_of_registers(least)));
}

}  // namespace wkvc
