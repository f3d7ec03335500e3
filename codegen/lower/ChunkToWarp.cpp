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
class TensorList {
 public:
  explicit TensorList(chunk::ProgramOp program, const SavedStates& saved)
      : program_(program), saved_(saved), spaces_(infer_spaces(program)) {}

  ArrayAttr run(OpBuilder& b) {
    bool backward = program_.getBackward();
    for (Operation& op : program_.getBody().front()) add(op);
    if (backward || saved_.every) add("saved_states", "saved_states", saved_.dtype, "B,H,N,V,K");
    if (backward) {
      add("final_state_gradient", "dfinal_state", "f32", "B,H,V,K");
      add("initial_state_gradient", "dinitial_state", "f32", "B,H,V,K");
    } else {
      add("initial_state", "initial_state", "f32", "B,H,V,K");
      add("final_state", "final_state", "f32", "B,H,V,K");
    }
    llvm::SmallVector<llvm::StringRef> list(texts_.begin(), texts_.end());
    return b.getStrArrayAttr(list);
  }

 private:
  void add(llvm::StringRef role, llvm::StringRef name, const std::string& dtype, const std::string& dims) {
    texts_.push_back(fmt::format("{} {} {} {}", role.str(), name.str(), dtype, dims));
  }

  void add(Operation& op) {
    auto per_token = [](char dim) { return dim == '1' ? std::string("B,T,H") : std::string("B,T,H,") + dim; };
    if (auto input = dyn_cast<chunk::InputOp>(op))
      add(input.getGradientOf() ? "output_gradient" : "input", input.getSym(),
          dtype_name(chunk::element(input.getResult())), per_token(input.getDim()[0]));
    if (auto parameter = dyn_cast<chunk::ParameterOp>(op))
      add("parameter", parameter.getSym(), dtype_name(chunk::element(parameter.getResult())),
          "H," + parameter.getDim().str());
    if (auto output = dyn_cast<chunk::OutputOp>(op))
      add(output.getGradientOf() ? "input_gradient" : "output", output.getSym(), output.getDtype().str(),
          per_token(dims_of(spaces_.lookup(output.getX()))[1]));
    if (auto sum = dyn_cast<chunk::AccumulateOp>(op))
      add("workspace", parts_name(sum), "f32", "B,H," + dims_of(spaces_.lookup(sum.getX())).substr(1));
  }

  chunk::ProgramOp program_;
  const SavedStates& saved_;
  Spaces spaces_;
  std::deque<std::string> texts_;
};

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

// Kernels that sum the gradients of parameters over the batches.
void add_batch_sums(chunk::ProgramOp program, OpBuilder& b, llvm::StringRef arch) {
  Spaces spaces = infer_spaces(program);
  for (auto sum : program.getBody().getOps<chunk::AccumulateOp>()) {
    std::string name = fmt::format("{}_backward_{}", program.getRecurrence().str(), sum.getSym().str());
    warp::BatchSumOp::create(b, program.getLoc(), name, program.getRecurrence(), program.getChunk(),
                             program.getKeyDim(), program.getValueDim(), program.getCompute(), parts_name(sum),
                             sum.getSym(), element_type(program.getContext(), sum.getDtype()),
                             dims_of(spaces.lookup(sum.getX())).substr(1), arch);
  }
}

}  // namespace

void chunk_to_warp(chunk::ProgramOp program, llvm::StringRef arch, const SavedStates& saved, ModuleOp kernels) {
  OpBuilder b(program.getContext());
  Location loc = program.getLoc();
  bool backward = program.getBackward();
  int warps = static_cast<int>(program.getValueDim() / 16);
  Type saved_type = element_type(program.getContext(), saved.dtype);
  WarpBuilder builder(program, b, warps, saved_type);
  builder.plan_buffers();
  check_budget(program, builder);
  b.setInsertionPointToEnd(kernels.getBody());
  int64_t shared = builder.shared_bytes();
  auto kernel = warp::KernelOp::create(
      b, loc, fmt::format("{}_{}", program.getRecurrence().str(), backward ? "backward" : "forward"),
      program.getRecurrence(), warps, blocks_per_sm(program, warps, shared), program.getChunk(), program.getKeyDim(),
      program.getValueDim(), shared, program.getCompute(), TensorList(program, saved).run(b), arch, backward,
      saved.every);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&kernel.getBody().emplaceBlock());
    builder.declare_buffers();
    builder.start_sums();
    builder.start_copies();
    auto tile = VectorType::get({16, static_cast<int64_t>(program.getKeyDim())}, b.getF32Type());
    Value initial = warp::LoadStateOp::create(b, loc, tile, backward ? "dfinal_state" : "initial_state");
    auto loop = warp::LoopOp::create(b, loc, tile, initial);
    {
      OpBuilder::InsertionGuard inside(b);
      Block& body = loop.getBody().emplaceBlock();
      auto carried = *program.getBody().getOps<chunk::StateOp>().begin();
      Value S = body.addArgument(tile, loc);
      set_name(S, name_of(carried));
      set_name(initial, (name_of(carried) + "_initial").str());
      set_name(loop.getResult(), (name_of(carried) + "_final").str());
      b.setInsertionPointToEnd(&body);
      builder.set_state(S);
      if (!backward && saved.every) warp::SaveStateOp::create(b, loc, "saved_states", S, saved_type);
      builder.begin_chunk();
      for (int phase = 0; phase < builder.phases(); ++phase) builder.phase(phase);
      warp::YieldOp::create(b, loc, builder.next_state());
    }
    warp::StoreStateOp::create(b, loc, backward ? "dinitial_state" : "final_state", loop.getResult());
    builder.end_sums();
  }
  add_batch_sums(program, b, arch);
}

}  // namespace wkvc
