#include "codegen/decays.h"

#include "codegen/chunk/Chunk.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

// Returns whether an operation of the chunk programs is such as asked for.
static bool any_in_chunk(const Source& source, const Config& config, llvm::function_ref<bool(Operation*)> is_wanted) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  auto module = parse(lower_to(source, Stage::chunk, config), context);
  const auto found =
      module->walk([&](Operation* op) { return is_wanted(op) ? WalkResult::interrupt() : WalkResult::advance(); });
  return found.wasInterrupted();
}

bool may_decay_steeply(const Source& source, const Config& config) {
  return any_in_chunk(source, config, [](Operation* op) {
    auto dot = dyn_cast<chunk::DotOp>(op);
    return isa<chunk::NotBelowOp>(op) || (dot && dot.getWide());
  });
}

bool decays_by_numbers(const Source& source, const Config& config) {
  return !any_in_chunk(source, config, [](Operation* op) {
    if (!isa<chunk::ExpOp, chunk::Exp2Op>(op)) return false;
    auto program = op->getParentOfType<chunk::ProgramOp>();
    return chunk::rows(op->getResult(0)) > 1 &&
           chunk::columns(op->getResult(0)) == static_cast<int64_t>(program.getKeyDim());
  });
}

}  // namespace wkvc
