#include "codegen/passes.h"

#include <mlir/IR/Iterators.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "codegen/differentiate/Differentiate.h"
#include "codegen/emit/Emit.h"
#include "codegen/lower/ChunkToWarp.h"
#include "codegen/lower/RecToChunk.h"
#include "codegen/lower/Slice.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// The programs or kernels of the module, in the order in which they run.
template <class Op>
auto all(Work& work) {
  return llvm::to_vector(work.module->getBody()->getOps<Op>());
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

void differentiate_program(Work& work, const Config& config) {
  auto programs = all<chunk::ProgramOp>(work);
  if (config.pass == "forward" || programs.size() != 1 || programs.front().getBackward()) return;
  differentiate(programs.front(), config.gradients);
  if (config.pass == "backward") programs.front().erase();
}

void slice_programs(Work& work, const Config&) {
  for (auto program : all<chunk::ProgramOp>(work)) slice(program);
}

// A backward program, in this text or elsewhere, needs them.
SavedStates saved_states(Work& work, const Config& config) {
  bool backward = llvm::any_of(all<chunk::ProgramOp>(work), [](auto program) { return program.getBackward(); });
  if (config.pass == "forward" && !backward) return {};
  return {1, config.saved.empty() ? "f32" : config.saved};
}

void lower_to_warp(Work& work, const Config& config) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(work.module->getLoc());
  const SavedStates saved = saved_states(work, config);
  for (auto program : all<chunk::ProgramOp>(work)) chunk_to_warp(program, config.arch, saved, *kernels);
  work.module = std::move(kernels);
}

void emit_text(Work& work, const Config&) {
  for (Operation& op : *work.module->getBody()) {
    if (!work.cuda.empty()) work.cuda += "\n";
    if (auto kernel = dyn_cast<warp::KernelOp>(op)) work.cuda += emit_cuda(kernel);
    if (auto sum = dyn_cast<warp::BatchSumOp>(op)) work.cuda += emit_cuda(sum);
  }
}

constexpr Pass kPasses[] = {
    {"rec-to-chunk", "C tokens at once; decays factored where their range allows", Stage::rec, Stage::chunk,
     lower_to_chunk},
    {"merge-common", "common subexpressions and dead values; before slicing, so that each value has one slice",
     Stage::chunk, Stage::chunk, merge_common},
    {"differentiate", "the backward program, if one is asked for", Stage::chunk, Stage::chunk, differentiate_program},
    {"merge-gradients", "merge-common again, of what differentiation repeats", Stage::chunk, Stage::chunk,
     merge_common},
    {"slice", "prologue, core and epilogue by dependence on the state", Stage::chunk, Stage::chunk, slice_programs},
    {"chunk-to-warp", "owners, phases, shared memory and barriers of one group of warps", Stage::chunk, Stage::warp,
     lower_to_warp},
    {"emit-cuda", "text that calls templates/", Stage::warp, Stage::cuda, emit_text},
};

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

}  // namespace wkvc
