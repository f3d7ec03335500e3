#include "codegen/passes.h"

#include <mlir/IR/Iterators.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "codegen/emit/Emit.h"
#include "codegen/lower/ChunkToWarp.h"
#include "codegen/lower/RecToChunk.h"
#include "codegen/lower/Slice.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// The one operation of the module.
template <class Op>
Op only(Work& work) {
  return cast<Op>(work.module->getBody()->front());
}

void lower_to_chunk(Work& work, const Config& config) {
  work.module = rec_to_chunk(rec::recurrence_of(*work.module), config.chunk);
}

void merge_common(Work& work, const Config&) {
  PassManager passes(work.module->getContext());
  passes.addPass(createCSEPass());
  if (failed(passes.run(*work.module))) internal_error("merge-common failed");
  // It leaves what only became dead on the way.
  work.module->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation* op) {
    if (isOpTriviallyDead(op)) op->erase();
  });
}

void slice_program(Work& work, const Config&) { slice(only<chunk::ProgramOp>(work)); }

void lower_to_warp(Work& work, const Config& config) {
  work.module = chunk_to_warp(only<chunk::ProgramOp>(work), config.arch);
}

void emit_text(Work& work, const Config&) { work.cuda = emit_cuda(only<warp::KernelOp>(work)); }

constexpr Pass kPasses[] = {
    {"rec-to-chunk", "C tokens at once; decays factored where their range allows", Stage::rec, Stage::chunk,
     lower_to_chunk},
    {"merge-common", "common subexpressions and dead values; before slicing, so that each value has one slice",
     Stage::chunk, Stage::chunk, merge_common},
    {"slice", "prologue, core and epilogue by dependence on the state", Stage::chunk, Stage::chunk, slice_program},
    {"chunk-to-warp", "owners, phases, shared memory and barriers of one group of warps", Stage::chunk, Stage::warp,
     lower_to_warp},
    {"emit-cuda", "text that calls templates/", Stage::warp, Stage::cuda, emit_text},
};

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

}  // namespace wkvc
