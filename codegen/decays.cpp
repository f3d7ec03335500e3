#include "codegen/decays.h"

#include "codegen/chunk/Chunk.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

// Returns whether the chunk programs have an operation of some kind.
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

// Returns whether an operation multiplies a state by one number for each key.
static bool decays_keys(Operation* op) {
  auto product = dyn_cast<chunk::MulOp>(op);
  if (!product || chunk::columns(product.getY()) == 1) return false;
  const auto states = op->getParentOfType<chunk::ProgramOp>().getBody().getOps<chunk::StateOp>();
  return !states.empty() && product.getType() == (*states.begin()).getType() && chunk::rows(product.getY()) == 1;
}

bool decays_by_numbers(const Source& source, const Config& config) {
  return !any_in_chunk(source, config, [](Operation* op) {
    return decays_keys(op) && op->getParentOfType<chunk::ProgramOp>().getPlain();
  });
}

}  // namespace wkvc
