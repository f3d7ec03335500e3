#include "codegen/passes/chunk_to_warp/KernelBuilder.h"

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk/Summary.h"
#include "codegen/passes/chunk_to_warp/FollowingKernels.h"
#include "codegen/passes/chunk_to_warp/StateTraits.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"
#include "codegen/passes/chunk_to_warp/body/ChunkSums.h"
#include "codegen/warp/KeptStates.h"
#include "codegen/warp/Registers.h"

using namespace mlir;

namespace wkvc {

namespace {

// One kernel: all chunks in order, or groups of them from the last, each recomputed forward and then run backward.
class KernelBuilder {
 public:
  // `memory`: of the program, and of the one that recomputes states, if there is one.
  KernelBuilder(chunk::ProgramOp program, const KernelMemory& memory, int64_t maps, const Plan& plan, OpBuilder& b)
      : program_(program), memory_(memory), b_(b), saved_type_(saved_type(program)), plan_(plan) {
    const bool fits = warp::fits_kept(saved_type_, program_.getPlain().has_value());
    main_.emplace(memory.main(), b, plan, saved_type_, fits);
    if (memory.again()) again_.emplace(*memory.again(), b, plan, saved_type_, fits);
    if (memory.main().shared.goes_again()) again_->buffers().share_rings(main_->buffers());
    if (keeps_states()) main_->copies().read_states_from(kRecomputed, /*but_first=*/groups_ahead());
    auto recompute = memory.again() ? memory.again()->program : chunk::ProgramOp();
    tensors_ = tensor_list(program, recompute, keeps_states(), maps);
  }

  void run() {
    std::string name = kernel_name(
        program_, std::string(program_.getSummary() ? "_summary" : "") + (program_.getRefused() ? "_scaled" : ""));
    kernel_ = create<warp::KernelOp>(name, program_.getRecurrence(), plan_.warps(), program_.getSchedule(),
                                     program_.getChunk(), program_.getKeyDim(), program_.getValueDim(), memory_.bytes(),
                                     program_.getCompute(), tensors_, program_.getArch(), backward(),
                                     program_.getSummaryAttr(), memory_.of_team(), program_.getPlain().has_value(),
                                     program_.getRefused(), program_.getParts());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&kernel_.getBody().emplaceBlock());
    begin_guarded();
    main_->buffers().declare();
    if (again_) again_->buffers().declare();
    if (plan_.preparers()) {
      main_->buffers().declare_rings(/*everywhere=*/false);
      role(warp::Work::prepare, [&] { prepare_ahead(); });
    }
    role(warp::Work::state, [&] { take_state(); });
  }

 private:
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  // Those that prepare chunks are behind those of the state.
  template <class F>
  void role(warp::Work work, F build) {
    const bool prepares = work == warp::Work::prepare;
    const auto registers = warp::role_registers(kernel_);
    const auto number = [&](int64_t x) { return b_.getI64IntegerAttr(x); };
    const int64_t each = registers ? (prepares ? registers->prepare : registers->state) : 0;
    auto role =
        create<warp::RoleOp>(work, prepares ? plan_.row_warps : 0, prepares ? plan_.preparers() : plan_.row_warps,
                             registers ? number(each) : IntegerAttr());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&role.getBody().emplaceBlock());
    build();
  }

  // All that the state's warps do.
  void take_state() {
    start_sums(main_->context());
    if (groups_ahead()) main_->buffers().declare_rings(/*everywhere=*/true);  // it goes on from group to group
    if (plan_.by_teams() && !plan_.preparers()) start_teams();
    if (plan_.preparers()) create<warp::NoteOp>("Consumer warps: the state goes through the rounds.");
    Value state = start();
    set_name(state, (carried() + "_initial").str());
    state = plan_.by_teams() ? all_rounds(state) : again_ ? groups(state) : chunks(*main_, state, warp::Over::chunks);
    set_name(state, (carried() + "_end").str());
    if (program_.getPlain()) create<warp::RefuseOp>(refused_name(program_), state);
    state = as_stored(state, /*of_state=*/program_.getSummary().has_value());
    if (unit_)
      state =
          create<warp::TimesUnitOp>(state, unit_, /*over=*/false, /*of_state=*/!!program_.getSummary(), FloatAttr());
    create<warp::StoreStateOp>(program_.getSummary() ? segments_name(program_) : last_state(program_), state);
    if (plan_.by_teams() && !memory_.main().shared.sums().empty()) create<warp::BarrierOp>();  // for all teams'
    end_sums(main_->context());
  }

  // Which blocks go on. What comes in and goes out of a plain backward kernel is in a unit of gradients.
  void begin_guarded() {
    if (program_.getRefused()) create<warp::OnlyRefusedOp>(refused_name(program_));
    if (!program_.getPlain()) return;
    llvm::SmallVector<llvm::StringRef> gradients;
    for (auto input : program_.getBody().getOps<chunk::InputOp>())
      if (input.getGradientOf()) gradients.push_back(input.getSym());
    auto expect = create<warp::ExpectOp>(gradients.empty() ? Type() : b_.getF32Type(), refused_name(program_),
                                         *program_.getPlain(), b_.getStrArrayAttr(gradients));
    unit_ = expect.getUnit();
    if (!unit_) return;
    set_name(unit_, "unit");
    main_->set_unit(unit_);
  }

  bool groups_ahead() const { return chunk::ProgramOp(program_).getSchedule().memory.prefetch == Ahead::groups; }

  VectorType tile() const {
    return VectorType::get({16, static_cast<int64_t>(chunk::ProgramOp(program_).getKeyDim())}, b_.getF32Type());
  }

  llvm::StringRef carried() { return name_of(*program_.getBody().getOps<chunk::StateOp>().begin()); }

  Value start() {
    if (program_.getSummary()) return create<warp::StartSummaryOp>(tile());
    Value state =
        create<warp::LoadStateOp>(tile(), program_.getSegments() > 1 ? segments_name(program_) : first_state(program_));
    if (unit_) state = create<warp::TimesUnitOp>(state, unit_, /*over=*/true, /*of_state=*/false, FloatAttr());
    return main_->copies().as_carried(state);
  }

  // A state that the program carries, as it is outside.
  Value as_stored(Value state, bool of_state = false) { return main_->copies().as_stored(state, of_state); }

  bool backward() { return program_.getBackward(); }

  // Begins a loop that carries a state, and the body that follows.
  std::pair<warp::SweepOp, Value> begin_loop(Value initial, warp::Over over, bool reverse, llvm::StringRef name,
                                             bool beside = false) {
    auto loop = create<warp::SweepOp>(initial.getType(), over, reverse,
                                      /*ahead=*/over == warp::Over::groups && groups_ahead(), beside, initial);
    Block& body = loop.getBody().emplaceBlock();
    b_.setInsertionPointToEnd(&body);
    Value state = body.addArgument(tile(), program_.getLoc());
    set_name(state, name);
    return {loop, state};
  }

  Value groups(Value initial) {
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, dS] = begin_loop(initial, warp::Over::groups, /*reverse=*/true, (carried() + "_group").str());
    bool ahead = groups_ahead();
    if (ahead) again_->buffers().declare_rings(/*everywhere=*/true);
    create<warp::NoteOp>("The states before the chunks of this group.");
    create<warp::BarrierOp>();
    if (ahead) create<warp::WaitCopiesOp>(0);
    Value S = again_->copies().widened(again_->copies().load_saved());
    set_name(S, "S_group");
    if (ahead)
      create<warp::StageStateOp>(S, main_->buffers().staged());
    else
      create<warp::KeepStateOp>(kRecomputed, S, saved_type_, /*but_last=*/false);
    if (ahead) main_->copies().start(/*of_state=*/false);
    chunks(*again_, again_->copies().as_carried(S), warp::Over::group);
    if (ahead) create<warp::WaitCopiesOp>(0);
    create<warp::NoteOp>("Backward through the group.");
    create<warp::BarrierOp>();
    if (ahead) again_->copies().start_next_group();
    create<warp::YieldOp>(chunks(*main_, dS, warp::Over::group));
    return loop.getResult();
  }

  bool has_saved_state() { return !program_.getBody().getOps<chunk::SavedStateOp>().empty(); }

  // Before states are loaded.
  void start_teams() {
    main_->buffers().declare_rings(/*everywhere=*/false);
    team([&] {
      main_->copies().start_ahead(Copied::early, 0);
      main_->copies().start_round();
    });
  }

  Value all_rounds(Value initial) {
    if (state_carries_scale(memory_.main(), /*saved=*/false)) initial = begin_scale(initial, /*saved=*/false);
    return alone(plan_.preparers() ? prepared_rounds(initial) : rounds(initial));
  }

  // A state without what it carries from chunk to chunk of rounds.
  Value alone(Value state) {
    return state_carries_scale(memory_.main(), /*saved=*/false) ? create<warp::WithoutScaleOp>(state) : state;
  }

  Value begin_scale(Value state, bool saved) {
    return create<warp::WithScaleOp>(state, state_shares_scale(memory_.main(), saved));
  }

  // By warps of their own, ahead of those that take the state through a round.
  void prepare_ahead() {
    if (main_->copies().has(Copied::early)) team([&] { main_->copies().start_ahead(Copied::early, 0); });
    create<warp::NoteOp>("Producer warps: each team prepares its chunk of every round, ahead of the state.");
    auto rounds = create<warp::SweepOp>(TypeRange(), warp::Over::rounds, false, false, false, ValueRange());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&rounds.getBody().emplaceBlock());
    team([&] {
      main_->prepare_round();
      create<warp::PublishOp>();
    });
  }

  // The state through all rounds that others prepare.
  Value prepared_rounds(Value initial) {
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, state] = begin_loop(initial, warp::Over::rounds, /*reverse=*/false, (carried() + "_round").str());
    create<warp::YieldOp>(through_round(*main_, state, Way::own));
    return loop.getResult();
  }

  // Each team prepares its chunk of a round, the states go through the round, then each team finishes its chunk.
  Value rounds(Value initial) {
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, state] = begin_loop(initial, warp::Over::rounds, backward(), (carried() + "_round").str());
    Value saved = has_saved_state() ? saved_state_of_round() : Value();
    create<warp::NoteOp>("Each team prepares its chunk of the round.");
    team([&] { main_->prepare_round(); });
    if (!meets_first(memory_.main(), /*saved=*/has_saved_state())) create<warp::BarrierOp>();
    if (main_->copies().has(Copied::prepared)) team([&] { start_ahead(Copied::prepared); });
    if (saved) take_saved(saved);
    if (!memory_.main().placement.takes_both_at_once())
      create<warp::NoteOp>(backward() ? "Backward through the round." : "The state goes through the round.");
    Value next = through_round(*main_, state, Way::own);
    finish_round();
    create<warp::YieldOp>(next);
    return loop.getResult();
  }

  void start_ahead(Copied which) { main_->copies().start_ahead(which, plan_.round_chunks()); }

  Value saved_state_of_round() {
    Value saved = main_->copies().load_saved();
    set_name(saved, "S_round");
    return again_ ? through_first_round(saved) : saved;
  }

  // The saved state forward through a round. It is widened not before: the teams need not wait for it.
  void take_saved(Value saved) {
    create<warp::NoteOp>(memory_.main().placement.takes_both_at_once()
                             ? "The states before the chunks of this round, and at once backward through it."
                             : "The states before the chunks of this round.");
    Value S = main_->copies().saved_state(saved);
    if (state_carries_scale(memory_.main(), /*saved=*/true)) S = begin_scale(S, /*saved=*/true);
    through_round(*main_, S, Way::saved);
    // Else what warps store for one state would replace what others read for the other.
    if (!memory_.main().placement.takes_both_together() && !has_maximum(memory_.main(), /*saved=*/false))
      create<warp::BarrierOp>();
  }

  int phases_of_finish() const { return memory_.main().placement.division().finish; }
  bool has_finish() const { return phases_of_finish() > 0; }
  // Whether one of a team's warps may not go on to what follows it while others finish: they read what copies replace,
  // or the maxima of the next chunk, where no barrier is between.
  bool ends_together() {
    return (main_->copies().has(Copied::late) && !memory_.main().shared.copies_last()) || phases_of_finish() == 1;
  }

  void finish_round() {
    if (has_finish())
      create<warp::NoteOp>("Each team finishes its chunk: gradients that no warp of value rows has alone.");
    create<warp::BarrierOp>(refuses_early(program_));
    team([&] {
      if (has_finish()) {
        main_->finish_chunk();
        if (ends_together()) create<warp::BarrierOp>();
      }
      if (!memory_.main().shared.copies_last()) start_ahead(Copied::late);
    });
  }

  // The state before the second of the two rounds that are between saved states.
  Value through_first_round(Value saved) {
    auto again = create<warp::AgainOp>(saved.getType(), saved);
    set_name(again.getResult(), "S_again");
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&again.getBody().emplaceBlock());
    again_->buffers().declare_rings(/*everywhere=*/true);
    team([&] { again_->prepare_round([&] { main_->copies().start_next(); }); });
    create<warp::BarrierOp>();
    Value next = through_round(*again_, again_->copies().saved_state(saved), Way::again);
    create<warp::BarrierOp>();
    next = again_->copies().as_stored(next);
    // As the saved one is stored: f32 would take twice the registers until the teams have prepared the second round.
    if (next.getType() != saved.getType())
      next = create<warp::RoundOp>(saved.getType(), next, Value(), Value(), Value(), false, false, false);
    create<warp::YieldOp>(next);
    return again.getResult();
  }

  template <class F>
  void team(F build) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&create<warp::TeamOp>().getBody().emplaceBlock());
    build();
  }

  // The saved state of a program that has two goes forward, as it does again by a program of its own.
  enum class Way { saved, again, own };
  Value through_round(WarpBuilder& builder, Value initial, Way way) {
    OpBuilder::InsertionGuard guard(b_);
    const bool own = way == Way::own, saved = way == Way::saved;
    auto [loop, S] = begin_loop(initial, warp::Over::round, backward() && own, own ? carried() : "S_before",
                                /*beside=*/own && builder.context().placement().takes_both_at_once());
    if (plan_.preparers()) create<warp::AwaitOp>(refuses_early(program_));
    builder.set_state(S, state_carries_scale(builder.context().placed, saved));
    if (saves()) save_state(as_stored(alone(S)));
    builder.take_state(saved);
    if (intermediate()) store_intermediate(as_stored(alone(builder.next_state())));
    if (plan_.preparers()) create<warp::ReleaseOp>();
    create<warp::YieldOp>(builder.next_state());
    return loop.getResult();
  }

  bool saves() { return !backward() && program_.getSavedEvery() && !program_.getSummary(); }
  void save_state(Value S) { create<warp::SaveStateOp>("saved_states", S, saved_type_); }

  // Whether states behind chunks are results.
  bool intermediate() { return program_.getStatesEvery() > 0 && !program_.getSummary(); }
  void store_intermediate(Value S) {
    create<warp::StoreIntermediateOp>("intermediate_states", S, program_.getStatesEvery());
  }

  // After a chunk, for the loop backward; that of the group's last chunk, which comes first there, where it is read.
  void keep_state(Value S) {
    bool ahead = groups_ahead();
    if (keeps_states()) create<warp::KeepStateOp>(kRecomputed, S, saved_type_, /*but_last=*/ahead);
    if (ahead) create<warp::StageStateOp>(S, main_->buffers().staged());
  }

  // Whether states go through a workspace: that before a group's first chunk was saved, that before its last stays
  // here.
  bool keeps_states() const {
    return again_ && !plan_.by_teams() && (!groups_ahead() || chunk::ProgramOp(program_).getSavedEvery() > 2);
  }

  // A loop over chunks and what has to come before it.
  Value chunks(WarpBuilder& builder, Value initial, warp::Over over) {
    bool recomputes = &builder != &*main_, started = over == warp::Over::group && groups_ahead();
    if (!started) {
      builder.buffers().declare_rings(/*everywhere=*/over == warp::Over::chunks &&
                                      !builder.copies().has(Free::behind_last));
      builder.copies().start(/*of_state=*/true);
    }
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, S] = begin_loop(initial, over, backward() && !recomputes, recomputes ? "S_before" : carried());
    builder.set_state(S);
    if (saves()) save_state(as_stored(S));
    if (!started) builder.copies().wait();
    builder.go_through_chunk();
    if (recomputes) keep_state(builder.copies().as_stored(builder.next_state()));
    if (intermediate()) store_intermediate(as_stored(builder.next_state()));
    // At its end, so that nothing waits here for what is started after this loop has begun.
    if (started && builder.copies().go_ahead()) create<warp::WaitCopiesOp>(0);
    create<warp::YieldOp>(builder.next_state());
    return loop.getResult();
  }

  chunk::ProgramOp program_;
  const KernelMemory& memory_;
  OpBuilder& b_;
  warp::KernelOp kernel_;
  Type saved_type_;
  Plan plan_;
  std::optional<WarpBuilder> main_, again_;  // of the program; of the one that recomputes states, if there is one
  ArrayAttr tensors_;
  Value unit_;  // of gradients; null if they have none
};

}  // namespace

void build_kernel(chunk::ProgramOp program, const KernelMemory& memory, int64_t maps, const Plan& plan, OpBuilder& b) {
  KernelBuilder(program, memory, maps, plan, b).run();
}

}  // namespace wkvc
