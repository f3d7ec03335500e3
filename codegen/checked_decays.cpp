#include "codegen/checked_decays.h"

#include "codegen/chunk/Chunk.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

bool checks_decays(const Source& source, const Config& config) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  auto module = parse(lower_to(source, Stage::chunk, config), context);
  return module->walk([](chunk::NotBelowOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

}  // namespace wkvc
