#include "autotune/search/fit.h"

#include <mlir/IR/MLIRContext.h>

#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr int chunk_step = 16, most_tokens = 256;  // chunks that the compiler takes
constexpr int rows_of_a_warp = 16;                 // of the state

// What the kernel of the configuration's pass says of itself.
void read_kernel(const std::string& warp_text, bool backward, FitRow& row) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  auto module = parse(warp_text, context);
  module->walk([&](warp::KernelOp kernel) {
    if (kernel.getBackward() != backward) return;
    row.chunk = static_cast<int>(kernel.getChunk());
    row.warps = static_cast<int>(kernel.getWarps());
    row.shared_bytes = kernel.getSharedBytes();
    row.blocks = static_cast<int>(kernel.getBlocks());
  });
}

}  // namespace

std::string FitRow::tile() const {
  return chunk == 0 ? "" : fmt::format("{} warps of {}x{}", warps, rows_of_a_warp, key_dim);
}

const std::vector<std::string>& fit_precisions() {
  static const std::vector<std::string> precisions{"f32", "bf16", "f16"};
  return precisions;
}

FitRow fit(const Definition& recurrence, const Config& config) {
  const Source source = rec_source(recurrence, config);
  FitRow row;
  row.mma = config.mma;
  row.io = config.io;
  row.pass = config.pass;
  row.key_dim = config.key_dim;
  row.value_dim = config.value_dim;
  for (int chunk = chunk_step; chunk <= most_tokens; chunk += chunk_step) {
    Config larger = config;
    larger.chunk = chunk;
    try {
      read_kernel(lower_to(source, Stage::warp, larger), config.pass == "backward", row);
    } catch (const UserError& error) {
      row.limit = error.message();
      break;
    }
  }
  return row;
}

}  // namespace wkvc
