#include "codegen/passes/chunk_to_warp/FollowingKernels.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Summary.h"
#include "codegen/passes/chunk_to_warp/CombiningBlock.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/place/PlacedProgram.h"

using namespace mlir;

namespace wkvc {

std::string kernel_name(chunk::ProgramOp program, llvm::StringRef suffix) {
  return fmt::format("{}_{}{}", program.getRecurrence().str(), program.getBackward() ? "backward" : "forward",
                     suffix.str());
}

namespace {

// Kernels that sum the gradients of parameters over the batches.
void add_batch_sums(chunk::ProgramOp program, OpBuilder& b) {
  Spaces spaces = infer_spaces(program);
  for (auto sum : program.getBody().getOps<chunk::AccumulateOp>()) {
    std::string name = fmt::format("{}_backward_{}", program.getRecurrence().str(), sum.getSym().str());
    warp::BatchSumOp::create(b, program.getLoc(), name, program.getRecurrence(), program.getChunk(),
                             program.getKeyDim(), program.getValueDim(), program.getCompute(), parts_name(sum),
                             sum.getSym(), element_type(program.getContext(), sum.getDtype()),
                             dims_of(spaces.lookup(sum.getX())).substr(1), program.getArch(), program.getSegments());
  }
}

// Kernels that sum the gradients of parameters of one number a head over the tokens of all batches.
void add_token_sums(chunk::ProgramOp program, OpBuilder& b) {
  for (auto output : program.getBody().getOps<chunk::OutputOp>()) {
    if (!output.getOfHead()) continue;
    std::string name = fmt::format("{}_backward_{}", program.getRecurrence().str(), output.getSym().str());
    warp::BatchSumOp::create(b, program.getLoc(), name, program.getRecurrence(), program.getChunk(),
                             program.getKeyDim(), program.getValueDim(), program.getCompute(), stored_name(output),
                             output.getSym(), element_type(program.getContext(), output.getDtype()), "1",
                             program.getArch(), /*segments=*/1);
  }
}

// Kernels that sum the gradients of inputs over the heads, or the blocks of a head, that share one.
void add_head_sums(chunk::ProgramOp program, OpBuilder& b) {
  Spaces spaces = infer_spaces(program);
  for (auto output : program.getBody().getOps<chunk::OutputOp>()) {
    if (output.getOfHead() || !output.isSummed()) continue;
    std::string name = fmt::format("{}_backward_{}", program.getRecurrence().str(), output.getSym().str());
    warp::HeadSumOp::create(b, program.getLoc(), name, program.getRecurrence(), program.getChunk(), program.getKeyDim(),
                            program.getValueDim(), program.getCompute(), stored_name(output), output.getSym(),
                            element_type(program.getContext(), output.getDtype()),
                            dims_of(spaces.lookup(output.getX())).substr(1), program.getArch(),
                            /*own_heads=*/!output.getShared());
  }
}

// The kernel that combines what a summary kernel leaves.
void add_combine(chunk::ProgramOp summary, OpBuilder& b) {
  const StoredStates states = states_of(summary);
  const std::string dtype = summary.getBackward() ? "f32" : states.dtype;
  const CombiningBlock block = combining_block(summary);
  warp::CombineOp::create(b, summary.getLoc(), kernel_name(summary, "_combine"), summary.getRecurrence(),
                          summary.getChunk(), summary.getKeyDim(), summary.getValueDim(), summary.getCompute(),
                          first_state(summary), segments_name(summary), summary.getSegments(), *summary.getSummary(),
                          block.strips, block.map_rows, block.bytes, summary.getBackward(), summary.getArch(), dtype,
                          states.dims);
}

}  // namespace

void add_following_kernels(chunk::ProgramOp program, OpBuilder& b) {
  if (program.getSummary()) add_combine(program, b);
  add_batch_sums(program, b);
  add_token_sums(program, b);
  add_head_sums(program, b);
}

}  // namespace wkvc
