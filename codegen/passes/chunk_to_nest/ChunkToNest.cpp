#include "codegen/passes/chunk_to_nest/ChunkToNest.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_nest/PairsTile.h"
#include "codegen/passes/chunk_to_nest/ReadRole.h"
#include "codegen/passes/chunk_to_nest/Refusal.h"
#include "codegen/passes/chunk_to_nest/StateRole.h"
#include "codegen/passes/chunk_to_nest/WriteRole.h"
#include "codegen/passes/chunk_to_warp/FollowingKernels.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr int64_t kExtent = 128, kChunk = 64;

// Throws UserError for a program that no nest is built of.
void expect_takes(chunk::ProgramOp program) {
  const auto refuse = [&](const std::string& given, const char* expected) {
    refuse_form(program, "'{}' has {}; expected {}", program.getRecurrence().str(), given, expected);
  };
  if (static_cast<int64_t>(program.getKeyDim()) != kExtent || static_cast<int64_t>(program.getValueDim()) != kExtent)
    refuse("heads of " + program.headText(), "heads of 128x128");
  if (static_cast<int64_t>(program.getChunk()) != kChunk)
    refuse(fmt::format("chunks of {}", program.getChunk()), "chunks of 64");
  if (program.getBackward() || program.getRecompute() || program.getSavedEvery() > 0)
    refuse("gradients", "a forward pass alone");
  if (program.getSegments() > 1 || program.getParts() > 1) refuse("segments, or parts", "whole heads and sequences");
  if (program.getStatesEvery() > 0) refuse("intermediate states", "states at the ends alone");
  const auto count = [&]<class Op>(Op) { return llvm::range_size(program.getBody().getOps<Op>()); };
  if (count(chunk::StateOp()) != 1 || count(chunk::OutputOp()) != 1) refuse("other states or outputs", "one of each");
}

// The channel of an output is found as that of what the program gives.
void add_output_channel(NestContext& context) {
  auto output = *context.program.getBody().getOps<chunk::OutputOp>().begin();
  const auto element = output.getDtype() == "bf16" ? Type(context.b.getBF16Type()) : Type(context.b.getF16Type());
  context.channels[output.getX()] = add_channel(
      context, output.getSym(), context.tile(kChunk, chunk::columns(output.getX()), element, Layout::swizzled), 1);
}

// Threads of helpers leave registers to those that hold the state.
void build_roles(NestContext& context) {
  const bool inverts = inverse_of(context.program) != nullptr;
  add_rows_of_pairs(context);
  for_each_row(context, [&](Value number) { context.rows.add(number); });
  const auto rows = static_cast<int64_t>(context.rows.values().size());
  context.numbers =
      add_channel(context, "numbers", context.tile(rows, kChunk, context.b.getF32Type(), Layout::plain), kAhead);
  add_output_channel(context);
  build_state_role(context, inverts ? 192 : 208);
  build_read_role(context, inverts ? 64 : 88);
  if (inverts) build_write_role(context, 64);
  nest::RoleOp state = *context.kernel.getBody().getOps<nest::RoleOp>().begin();  // which asks for what others put
  state->moveAfter(&context.kernel.getBody().front().back());
}

}  // namespace

void chunk_to_nest(chunk::ProgramOp program, ModuleOp kernels) {
  expect_takes(program);
  OpBuilder b(program.getContext());
  b.setInsertionPointToEnd(kernels.getBody());
  auto kernel = nest::KernelOp::create(b, program.getLoc(), b.getStringAttr(kernel_name(program)),
                                       program.getRecurrenceAttr(), program.getChunkAttr(), program.getKeyDimAttr(),
                                       program.getValueDimAttr(), tensor_list(program, {}, /*keeps_states=*/false, 0),
                                       program.getPlainAttr(), b.getI64IntegerAttr(sm_90a.block.shared_bytes),
                                       b.getI64IntegerAttr(1), b.getI64IntegerAttr(1));
  b.createBlock(&kernel.getBody());
  NestContext context(program, kernel);
  build_roles(context);
}

}  // namespace wkvc
