#include "codegen/lower/ChunkToWarp.h"

#include "codegen/ir/Text.h"
#include "codegen/lower/ChunkBuilder.h"
#include "codegen/lower/WarpBuilder.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr int64_t kSharedPerSm = 233472, kSharedReserved = 1024, kRegistersPerSm = 65536;  // sm_90

// The kernel's arguments in order: "role name dtype dims".
ArrayAttr tensor_list(chunk::ProgramOp program, OpBuilder& b) {
  llvm::SmallVector<llvm::StringRef> list;
  std::deque<std::string> texts;
  auto add = [&](const std::string& role, llvm::StringRef name, const std::string& dtype, const std::string& dims) {
    texts.push_back(fmt::format("{} {} {} {}", role, name.str(), dtype, dims));
  };
  auto dtype = [](Value v) { return dtype_name(chunk::element(v)); };
  Spaces spaces = infer_spaces(program);
  for (Operation& op : program.getBody().front()) {
    if (auto input = dyn_cast<chunk::InputOp>(&op))
      add("input", input.getSym(), dtype(input.getResult()), "B,T,H," + input.getDim().str());
    if (auto parameter = dyn_cast<chunk::ParameterOp>(&op))
      add("parameter", parameter.getSym(), dtype(parameter.getResult()), "H," + parameter.getDim().str());
    if (auto output = dyn_cast<chunk::OutputOp>(&op))
      add("output", output.getSym(), output.getDtype().str(),
          spaces.lookup(output.getX()).columns == Axis::key ? "B,T,H,K" : "B,T,H,V");
  }
  add("initial_state", "initial_state", "f32", "B,H,V,K");
  add("final_state", "final_state", "f32", "B,H,V,K");
  for (const std::string& text : texts) list.push_back(text);
  return b.getStrArrayAttr(list);
}

// Blocks a multiprocessor holds: by shared memory, and by a guess of registers that leaves the state room.
int64_t blocks_per_sm(chunk::ProgramOp program, int64_t warps, int64_t shared) {
  int64_t by_shared = kSharedPerSm / (shared + kSharedReserved);
  int64_t registers = std::min<int64_t>(255, 96 + program.getKeyDim() / 4);
  int64_t by_registers = kRegistersPerSm / (registers * warps * 32);
  return std::max<int64_t>(1, std::min(by_shared, by_registers));
}

void check_budget(chunk::ProgramOp program, const WarpBuilder& kernel) {
  int64_t budget = program.getSramBudget();
  if (kernel.shared_bytes() <= budget) return;
  user_error(
      "'{}' with chunk {} and head {}x{} needs {} bytes of shared memory, the budget is {}; use a smaller "
      "--chunk or --head, a narrower --io or --mma, or a larger --sram. Its buffers:\n{}",
      program.getRecurrence().str(), program.getChunk(), program.getKeyDim(), program.getValueDim(),
      kernel.shared_bytes(), budget, kernel.shared_map());
}

}  // namespace

void chunk_to_warp(chunk::ProgramOp program, llvm::StringRef arch, ModuleOp kernels) {
  OpBuilder b(program.getContext());
  Location loc = program.getLoc();
  int warps = static_cast<int>(program.getValueDim() / 16);
  WarpBuilder builder(program, b, warps);
  builder.plan_buffers();
  check_budget(program, builder);
  b.setInsertionPointToEnd(kernels.getBody());
  int64_t shared = builder.shared_bytes();
  auto kernel =
      warp::KernelOp::create(b, loc, (program.getRecurrence() + "_forward").str(), program.getRecurrence(), warps,
                             blocks_per_sm(program, warps, shared), program.getChunk(), program.getKeyDim(),
                             program.getValueDim(), shared, program.getCompute(), tensor_list(program, b), arch);
  b.setInsertionPointToEnd(&kernel.getBody().emplaceBlock());
  builder.declare_buffers();
  builder.start_copies();
  auto tile = VectorType::get({16, static_cast<int64_t>(program.getKeyDim())}, b.getF32Type());
  Value initial = warp::LoadStateOp::create(b, loc, tile, "initial_state");
  set_name(initial, "S_initial");
  auto loop = warp::LoopOp::create(b, loc, tile, initial);
  set_name(loop.getResult(), "S_final");
  {
    OpBuilder::InsertionGuard guard(b);
    Block& body = loop.getBody().emplaceBlock();
    Value S = body.addArgument(tile, loc);
    set_name(S, "S");
    b.setInsertionPointToEnd(&body);
    builder.set_state(S);
    builder.begin_chunk();
    for (int phase = 0; phase < builder.phases(); ++phase) builder.phase(phase);
    warp::YieldOp::create(b, loc, builder.next_state());
  }
  warp::StoreStateOp::create(b, loc, "final_state", loop.getResult());
}

}  // namespace wkvc
