#include "codegen/lower/ChunkToWarp.h"

#include "codegen/ir/Text.h"
#include "codegen/lower/ChunkBuilder.h"
#include "codegen/lower/WarpBuilder.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr int64_t kSharedPerSm = 233472, kSharedReserved = 1024, kRegistersPerSm = 65536;  // sm_90

constexpr const char* kRecomputed = "chunk_states";

// The kernel's arguments in order: "role name dtype dims".
class TensorList {
 public:
  TensorList(chunk::ProgramOp program, chunk::ProgramOp recompute) {
    add_all(program);
    if (recompute) add_all(recompute);
    bool backward = program.getBackward();
    if (backward || program.getSavedEvery()) add("saved_states", "saved_states", program.getSaved().str(), "B,H,N,V,K");
    if (recompute) add("workspace", kRecomputed, "f32", "B,H,G,V,K");
    if (backward) {
      add("final_state_gradient", "dfinal_state", "f32", "B,H,V,K");
      add("initial_state_gradient", "dinitial_state", "f32", "B,H,V,K");
    } else {
      add("initial_state", "initial_state", "f32", "B,H,V,K");
      add("final_state", "final_state", "f32", "B,H,V,K");
    }
  }

  ArrayAttr attribute(OpBuilder& b) const {
    llvm::SmallVector<llvm::StringRef> list(texts_.begin(), texts_.end());
    return b.getStrArrayAttr(list);
  }

 private:
  void add(llvm::StringRef role, llvm::StringRef name, const std::string& dtype, const std::string& dims) {
    std::string text = fmt::format("{} {} {} {}", role.str(), name.str(), dtype, dims);
    if (!llvm::is_contained(texts_, text)) texts_.push_back(text);
  }

  void add_all(chunk::ProgramOp program) {
    Spaces spaces = infer_spaces(program);
    for (Operation& op : program.getBody().front()) add(op, spaces);
  }

  void add(Operation& op, const Spaces& spaces) {
    auto per_token = [](char dim) { return dim == '1' ? std::string("B,T,H") : std::string("B,T,H,") + dim; };
    if (auto input = dyn_cast<chunk::InputOp>(op))
      add(input.getGradientOf() ? "output_gradient" : "input", input.getSym(),
          dtype_name(chunk::element(input.getResult())), per_token(input.getDim()[0]));
    if (auto parameter = dyn_cast<chunk::ParameterOp>(op))
      add("parameter", parameter.getSym(), dtype_name(chunk::element(parameter.getResult())),
          "H," + parameter.getDim().str());
    if (auto output = dyn_cast<chunk::OutputOp>(op))
      add(output.getGradientOf() ? "input_gradient" : "output", output.getSym(), output.getDtype().str(),
          per_token(dims_of(spaces.lookup(output.getX()))[1]));
    if (auto sum = dyn_cast<chunk::AccumulateOp>(op))
      add("workspace", parts_name(sum), "f32", "B,H," + dims_of(spaces.lookup(sum.getX())).substr(1));
  }

  std::deque<std::string> texts_;
};

// Backward programs have as much to do for keys as for values, and too much for the registers of one warp.
Mapping mapping_of(chunk::ProgramOp program) {
  auto slabs = [](int64_t extent) { return static_cast<int>(extent / 16); };
  return {slabs(program.getValueDim()), slabs(program.getKeyDim()), program.getBackward()};
}

// Blocks a multiprocessor holds: by shared memory, and by a guess of registers that leaves the state room.
int64_t blocks_per_sm(chunk::ProgramOp program, int64_t warps, int64_t shared) {
  int64_t by_shared = kSharedPerSm / (shared + kSharedReserved);
  int64_t registers = std::min<int64_t>(255, 96 + program.getKeyDim() / (program.getBackward() ? 2 : 4));
  int64_t by_registers = kRegistersPerSm / (registers * warps * 32);
  return std::max<int64_t>(1, std::min(by_shared, by_registers));
}

void check_budget(chunk::ProgramOp program, const std::deque<SharedBuffer>& spaces, int64_t bytes) {
  int64_t budget = program.getSramBudget();
  if (bytes <= budget) return;
  user_error(
      "'{}' with chunk {} and head {}x{} needs {} bytes of shared memory, the budget is {}; use a smaller "
      "--chunk or --head, a narrower --io or --mma, or a larger --sram. Its buffers:\n{}",
      program.getRecurrence().str(), program.getChunk(), program.getKeyDim(), program.getValueDim(), bytes, budget,
      map_of({spaces.begin(), spaces.end()}));
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

// One kernel: all chunks in order, or groups of them from the last, each recomputed forward and then run backward.
class KernelBuilder {
 public:
  KernelBuilder(chunk::ProgramOp program, chunk::ProgramOp recompute, OpBuilder& b)
      : program_(program),
        b_(b),
        mapping_(mapping_of(program)),
        saved_type_(element_type(program.getContext(), program.getSaved())),
        main_(program, b, mapping_, saved_type_, spaces_, 0) {
    main_.plan_buffers();
    if (recompute) {
      again_.emplace(recompute, b, mapping_, saved_type_, spaces_, main_.phases() + 1);
      again_->plan_buffers();
      main_.keep_sums_until(main_.phases() + 1 + again_->phases());
      main_.set_recomputed(kRecomputed);
    }
    std::vector<SharedBuffer*> all;
    for (SharedBuffer& space : spaces_) all.push_back(&space);
    shared_ = allocate(all);
    check_budget(program, spaces_, shared_);
    tensors_ = TensorList(program, recompute).attribute(b);
  }

  void run(llvm::StringRef arch) {
    std::string name = fmt::format("{}_{}", program_.getRecurrence().str(), backward() ? "backward" : "forward");
    auto kernel = create<warp::KernelOp>(name, program_.getRecurrence(), mapping_.warps(),
                                         blocks_per_sm(program_, mapping_.warps(), shared_), program_.getChunk(),
                                         program_.getKeyDim(), program_.getValueDim(), shared_, program_.getCompute(),
                                         tensors_, arch, copiers(), backward(), program_.getSavedEvery());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&kernel.getBody().emplaceBlock());
    main_.declare_buffers();
    if (again_) again_->declare_buffers();
    if (mapping_.split) {
      role_of(Role::rows, 0, mapping_.row_warps - 1);
      role_of(Role::slabs_and_matrices, mapping_.row_warps, mapping_.warps() - 1);
    } else {
      role(Role::all);
    }
  }

 private:
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  VectorType tile() const {
    return VectorType::get({16, static_cast<int64_t>(chunk::ProgramOp(program_).getKeyDim())}, b_.getF32Type());
  }

  llvm::StringRef carried() { return name_of(*program_.getBody().getOps<chunk::StateOp>().begin()); }

  bool backward() { return program_.getBackward(); }
  IntegerAttr copiers() { return mapping_.split ? b_.getI64IntegerAttr(mapping_.copiers()) : IntegerAttr(); }

  void role_of(Role which, int first, int last) {
    auto op = create<warp::RoleOp>(first, last);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&op.getBody().emplaceBlock());
    role(which);
  }

  // The whole kernel for the warps of one role. Those of value rows hold the state.
  void role(Role which) {
    role_ = which;
    main_.begin_role(which);
    if (again_) again_->begin_role(which);
    main_.start_sums();
    Value state;
    if (holds_state()) {
      state = create<warp::LoadStateOp>(tile(), backward() ? "dfinal_state" : "initial_state");
      set_name(state, (carried() + "_initial").str());
    }
    state = again_ ? groups(state) : chunks(main_, state, "chunks");
    if (holds_state()) create<warp::StoreStateOp>(backward() ? "dinitial_state" : "final_state", state);
    main_.end_sums();
  }

  bool holds_state() const { return role_ != Role::slabs_and_matrices; }

  warp::LoopOp loop(Value carried, llvm::StringRef over, bool reverse) {
    llvm::SmallVector<Value, 1> init;
    if (carried) init.push_back(carried);
    return create<warp::LoopOp>(ValueRange(init).getTypes(), init, over, reverse);
  }

  // The body of a loop, with its carried value, if any.
  Value begin(warp::LoopOp loop, llvm::StringRef name) {
    Block& body = loop.getBody().emplaceBlock();
    b_.setInsertionPointToEnd(&body);
    if (loop.getInit().empty()) return {};
    Value S = body.addArgument(tile(), program_.getLoc());
    set_name(S, name);
    return S;
  }

  void yield(Value state) { create<warp::YieldOp>(holds_state() ? ValueRange(state) : ValueRange()); }

  static Value result(warp::LoopOp loop) { return loop.getResults().empty() ? Value() : loop.getResults().front(); }

  Value groups(Value initial) {
    auto over_groups = loop(initial, "groups", true);
    OpBuilder::InsertionGuard guard(b_);
    Value dS = begin(over_groups, (carried() + "_group").str());
    create<warp::NoteOp>("The states before the chunks of this group.");
    create<warp::BarrierOp>();
    Value S;
    if (holds_state()) {
      S = again_->load_saved();
      set_name(S, "S_group");
    }
    chunks(*again_, S, "group");
    create<warp::NoteOp>("Backward through the group.");
    create<warp::BarrierOp>();
    yield(chunks(main_, dS, "group"));
    return result(over_groups);
  }

  // A loop over chunks and what has to come before it.
  Value chunks(WarpBuilder& builder, Value initial, llvm::StringRef over) {
    builder.declare_rings(/*everywhere=*/over == "chunks");
    builder.start_copies();
    bool recomputes = &builder != &main_;
    auto over_chunks = loop(initial, over, backward() && !recomputes);
    OpBuilder::InsertionGuard guard(b_);
    Value S = begin(over_chunks, recomputes ? "S_before" : carried());
    builder.set_state(S);
    if (S && !backward() && program_.getSavedEvery()) create<warp::SaveStateOp>("saved_states", S, saved_type_);
    builder.begin_chunk();
    for (int phase = 0; phase < builder.phases(); ++phase) builder.phase(phase);
    if (S && recomputes) create<warp::KeepStateOp>(kRecomputed, builder.next_state());
    yield(builder.next_state());
    return result(over_chunks);
  }

  chunk::ProgramOp program_;
  OpBuilder& b_;
  Mapping mapping_;
  Role role_ = Role::all;
  Type saved_type_;
  std::deque<SharedBuffer> spaces_;
  WarpBuilder main_;
  std::optional<WarpBuilder> again_;
  std::int64_t shared_ = 0;
  ArrayAttr tensors_;
};

}  // namespace

void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, llvm::StringRef arch, ModuleOp kernels) {
  OpBuilder b(program.getContext());
  b.setInsertionPointToEnd(kernels.getBody());
  KernelBuilder(program, recompute, b).run(arch);
  add_batch_sums(program, b, arch);
}

}  // namespace wkvc
