#include "codegen/steep_decays.h"

#include "codegen/chunk/Chunk.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

bool may_decay_steeply(const Source& source, const Config& config) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  auto module = parse(lower_to(source, Stage::chunk, config), context);
  const auto found = module->walk([](Operation* op) {
    auto dot = dyn_cast<chunk::DotOp>(op);
    return isa<chunk::NotBelowOp>(op) || (dot && dot.getWide()) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

}  // namespace wkvc
