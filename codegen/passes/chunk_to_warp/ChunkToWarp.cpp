#include "codegen/passes/chunk_to_warp/ChunkToWarp.h"

#include "codegen/passes/chunk_to_warp/FollowingKernels.h"
#include "codegen/passes/chunk_to_warp/KernelBuilder.h"
#include "codegen/passes/place/PlacedText.h"

using namespace mlir;

namespace wkvc {

// Gives a kernel the numbers and words that its program has by the same names.
static void inherit(Operation& kernel, chunk::ProgramOp program) {
  for (StringAttr name : kernel.getName().getAttributeNames())
    if (Attribute own = program->getAttr(name); isa_and_nonnull<IntegerAttr, StringAttr>(own))
      kernel.setAttr(name, own);
}

void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, ModuleOp kernels) {
  OpBuilder b(program.getContext());
  const size_t before = kernels.getBody()->getOperations().size();
  b.setInsertionPointToEnd(kernels.getBody());
  const Placement main = read_placement(program);
  const auto again = recompute ? std::optional(read_placement(recompute)) : std::nullopt;
  const Plan plan = warps_of(program);
  const KernelMemory memory(main, again ? &*again : nullptr, plan, program.getSchedule().memory.prefetch);
  build_kernel(program, memory, maps, plan, b);
  if (!program.getPlain()) add_following_kernels(program, b);  // what a plain program refuses comes first
  for (Operation& kernel : llvm::drop_begin(*kernels.getBody(), before)) inherit(kernel, program);
}

}  // namespace wkvc
