#include "codegen/passes/warp/ChunkToWarp.h"

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk/Summary.h"
#include "codegen/passes/place/MemoryChoices.h"
#include "codegen/passes/place/Plan.h"
#include "codegen/passes/warp/JoinedDecays.h"
#include "codegen/passes/warp/TensorList.h"
#include "codegen/passes/warp/WarpBuilder.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// Blocks a multiprocessor holds: by shared memory, and by a guess of registers that leaves the state room, and in the
// backward pass a second one.
int64_t blocks_per_sm(chunk::ProgramOp program, int warps, int64_t shared) {
  int64_t by_shared = sm_90a.blocks_by_shared(shared);
  int64_t states = program.getBackward() ? 2 * program.getKeyDim() : program.getKeyDim() / 4;
  int64_t registers = std::min<int64_t>(sm_90a.warp.registers, sm_90a.choices.registers_beside_state + states);
  int64_t by_registers = sm_90a.sm.registers / (registers * warps * sm_90a.warp.threads);
  return std::max<int64_t>(1, std::min(by_shared, by_registers));
}

// As many blocks as were asked for. What a plain kernel refuses, which may have more to keep, makes do with those that
// there is room for.
int64_t checked_blocks(chunk::ProgramOp program, int warps, int64_t blocks, int64_t shared) {
  const int64_t most = std::min<int64_t>(sm_90a.blocks_by_shared(shared), sm_90a.sm.warps / warps);
  if (blocks <= most) return blocks;
  if (program.getRefused()) return most;
  user_error(
      "--blocks {}: a multiprocessor holds at most {} of the {} kernel of '{}', each of {} warps and {} bytes of "
      "shared "
      "memory",
      blocks, most == 1 ? "one block" : fmt::format("{} blocks", most), program.getBackward() ? "backward" : "forward",
      program.getRecurrence().str(), warps, shared);
}

// What takes less shared memory, or allows more, and is still to be had.
std::string smaller_options(chunk::ProgramOp program, const Plan& plan) {
  auto inputs = program.getBody().getOps<chunk::InputOp>();
  llvm::SmallVector<std::string> options;
  auto add = [&](bool possible, const char* option) {
    if (possible) options.emplace_back(option);
  };
  add(plan.cluster > 1, "a smaller --cluster");
  add(plan.rounds > 1 && plan.cluster == 1, "--rounds 1");
  add(plan.teams > plan.rounds, "fewer --teams");
  add(program.getChunk() > 16, "a smaller --chunk");
  add(program.getKeyDim() > 16 || program.getValueDim() > 16, "a smaller --head");
  add(!inputs.empty() && chunk::element((*inputs.begin()).getResult()).isF32(), "a narrower --io");
  add(program.getCompute() == "f32", "a narrower --mma");
  add(program.getSramBudget() < static_cast<uint64_t>(sm_90a.block.shared_bytes), "a larger --sram");
  return alternatives(options);
}

void check_budget(chunk::ProgramOp program, const std::deque<SharedBuffer>& spaces, int64_t bytes, const Plan& plan) {
  int64_t budget = program.getSramBudget();
  if (bytes <= budget) return;
  user_error_at(program,
                "'{}' with chunk {} and head {}x{} needs {} bytes of shared memory{}{}, the budget is {}; use {}. Its "
                "buffers:\n{}",
                program.getRecurrence().str(), program.getChunk(), program.getKeyDim(), program.getValueDim(), bytes,
                program.getRefused() ? " for what is refused without scales" : "",
                plan.cluster > 1 ? fmt::format(" for {} teams in each of {} blocks", plan.teams, plan.cluster)
                : plan.teams > 1 ? fmt::format(" for {} teams", plan.teams)
                                 : "",
                budget, smaller_options(program, plan), map_of({spaces.begin(), spaces.end()}));
}

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
                             program.getArch());
  }
}

// Kernels that sum the gradients of shared inputs over the heads that share one.
void add_head_sums(chunk::ProgramOp program, OpBuilder& b) {
  Spaces spaces = infer_spaces(program);
  for (auto output : program.getBody().getOps<chunk::OutputOp>()) {
    if (!output.getShared()) continue;
    std::string name = fmt::format("{}_backward_{}", program.getRecurrence().str(), output.getSym().str());
    warp::HeadSumOp::create(b, program.getLoc(), name, program.getRecurrence(), program.getChunk(), program.getKeyDim(),
                            program.getValueDim(), program.getCompute(), stored_name(output), output.getSym(),
                            element_type(program.getContext(), output.getDtype()),
                            dims_of(spaces.lookup(output.getX())).substr(1), program.getArch());
  }
}

std::string kernel_name(chunk::ProgramOp program, llvm::StringRef suffix = "") {
  return fmt::format("{}_{}{}", program.getRecurrence().str(), program.getBackward() ? "backward" : "forward",
                     suffix.str());
}

// The kernel that combines what a summary kernel leaves.
void add_combine(chunk::ProgramOp summary, OpBuilder& b) {
  const StoredStates states = states_of(summary);
  const std::string dtype = summary.getBackward() ? "f32" : states.dtype;
  warp::CombineOp::create(b, summary.getLoc(), kernel_name(summary, "_combine"), summary.getRecurrence(),
                          summary.getChunk(), summary.getKeyDim(), summary.getValueDim(), summary.getCompute(),
                          first_state(summary), segments_name(summary), summary.getSegments(), *summary.getSummary(),
                          summary.getBackward(), summary.getArch(), dtype, states.dims);
}

// One kernel: all chunks in order, or groups of them from the last, each recomputed forward and then run backward.
class KernelBuilder {
 public:
  KernelBuilder(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, const Plan& plan, OpBuilder& b)
      : program_(program),
        recompute_(recompute),
        b_(b),
        saved_type_(element_type(program.getContext(), program.getSaved())),
        blocks_(program.getSchedule().grid.blocks),
        plan_(plan) {
    plan_shared();
    if (keeps_states()) main_->copies().read_states_from(kRecomputed, /*but_first=*/groups_ahead());
    tensors_ = tensor_list(program, recompute, keeps_states(), maps);
  }

  void run() {
    std::string name = kernel_name(
        program_, std::string(program_.getSummary() ? "_summary" : "") + (program_.getRefused() ? "_scaled" : ""));
    auto kernel = create<warp::KernelOp>(name, program_.getRecurrence(), plan_.warps(), schedule(), program_.getChunk(),
                                         program_.getKeyDim(), program_.getValueDim(), shared_, program_.getCompute(),
                                         tensors_, program_.getArch(), backward(), program_.getSummaryAttr(), of_team_,
                                         program_.getPlain().has_value(), program_.getRefused());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&kernel.getBody().emplaceBlock());
    begin_guarded();
    main_->buffers().declare();
    if (again_) again_->buffers().declare();
    main_->start_sums();
    if (groups_ahead()) main_->buffers().declare_rings(/*everywhere=*/true);  // it goes on from group to group
    if (plan_.teams > 1) start_teams();
    Value state = start();
    set_name(state, (carried() + "_initial").str());
    state = plan_.teams > 1 ? all_rounds(state) : again_ ? groups(state) : chunks(*main_, state, "chunks");
    if (program_.getPlain()) create<warp::RefuseOp>(refused_name(program_), state);
    state = as_stored(state, /*of_state=*/program_.getSummary().has_value());
    if (unit_)
      state =
          create<warp::TimesUnitOp>(state, unit_, /*over=*/false, /*of_state=*/!!program_.getSummary(), FloatAttr());
    create<warp::StoreStateOp>(program_.getSummary() ? segments_name(program_) : last_state(program_), state);
    if (plan_.teams > 1 && main_->has_sums()) create<warp::BarrierOp>();  // for all teams'
    main_->end_sums();
    if (program_.getPlain() && plan_.teams > 1 && !plan_.preparers()) join_decays(kernel);
    add_fences(kernel);
    check_registers(kernel, program_, plan_);
  }

 private:
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  // The program's, with what it left open.
  Schedule schedule() {
    Schedule schedule = program_.getSchedule();
    schedule.grid.blocks = static_cast<int>(blocks_);
    schedule.memory = memory_;
    return schedule;
  }

  // Behind what teams have stored for contractions by groups, before they hand it over.
  void add_fences(warp::KernelOp kernel) {
    OpBuilder::InsertionGuard guard(b_);
    kernel.walk([&](warp::TeamOp team) {
      Block& body = team.getBody().front();
      const auto stores = [](Operation* op) {
        return warp::is_for_groups(op) ? WalkResult::interrupt() : WalkResult::advance();
      };
      if (!team->walk(stores).wasInterrupted()) return;
      b_.setInsertionPointToEnd(&body);
      if (isa<warp::PublishOp>(body.back())) b_.setInsertionPoint(&body.back());
      create<warp::BeforeAsyncReadsOp>();
    });
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

  bool groups_ahead() const { return memory_.prefetch == Ahead::groups; }

  // As much in shared memory as there is room for without giving up a block that states copied ahead leave.
  void plan_shared() {
    plan(Stored::sums, Ahead::inputs);
    if (shared_ > static_cast<int64_t>(program_.getSramBudget())) plan(Stored::contractions, Ahead::inputs);
    check_budget(program_, spaces_, shared_, plan_);
    blocks_ = checked_blocks(program_, plan_.warps(), blocks_, shared_);
    bool reads_saved = plan_.teams == 1 && has_saved_state() && main_->phases() > 1;
    if (reads_saved && !fits(Stored::sums, Ahead::states)) plan(Stored::sums, Ahead::inputs);
    if (!blocks_) blocks_ = blocks_per_sm(program_, plan_.warps(), shared_);
    const Ahead least = memory_.prefetch, most = least == Ahead::states && recompute_ ? Ahead::groups
                                                 : plan_.teams > 1                    ? Ahead::early
                                                                                      : least;
    const MemoryChoices choices{least, most, sm_90a.is_wide(program_.getKeyDim())};
    for (const Schedule::Memory& choice : choices.for_schedule(program_.getSchedule().memory))
      if (fits(choice.keep, choice.prefetch)) return;
    choices.expect_automatic(program_);
  }

  // With the blocks a multiprocessor is to hold, once that is known.
  bool fits(Stored stored, Ahead ahead) {
    plan(stored, ahead);
    return shared_ <= static_cast<int64_t>(program_.getSramBudget()) && sm_90a.blocks_by_shared(shared_) >= blocks_;
  }

  void plan(Stored stored, Ahead ahead) {
    memory_ = {stored, ahead};
    spaces_.clear();
    main_.emplace(program_, b_, plan_, saved_type_, stored, spaces_, 0);
    if (goes_again()) main_->buffers().go_again();
    main_->plan(ahead == Ahead::early);
    if (ahead == Ahead::states || ahead == Ahead::groups) main_->buffers().stage_state("S_staged");
    if (recompute_) plan_recompute(stored);
    if (goes_again()) check_inputs_again();
    std::vector<SharedBuffer*> of_team, all;
    for (SharedBuffer& space : spaces_) (space.of_team ? of_team : all).push_back(&space);
    of_team_ = allocate(of_team);
    const std::int64_t slot = allocate(all);
    for (SharedBuffer* space : all) space->offset += of_team_;
    const int64_t mbarriers = plan_.preparers() ? warp::kSlotMbarriers : 0;
    shared_ = plan_.teams * of_team_ + plan_.round_chunks() * plan_.rounds * (slot + mbarriers);
  }

  void plan_recompute(Stored stored) {
    again_.emplace(recompute_, b_, plan_, saved_type_, stored, spaces_, main_->phases() + 1);
    if (goes_again()) again_->buffers().share_rings(main_->buffers());
    again_->plan();
    int last = main_->phases() + 1 + again_->phases();
    main_->buffers().keep_sums_until(last);
    if (!groups_ahead()) return;
    again_->buffers().stage_state("S_group_staged");
    again_->buffers().keep_copies_until(last);
    main_->buffers().keep_copies_until(last);
  }

  bool goes_again() { return recompute_ && plan_.teams > 1; }  // through rounds of teams

  // While a state goes through a round again, what comes next is copied: teams have read inputs for it before.
  void check_inputs_again() {
    if (again_->buffers().are_read_first()) return;
    user_error_at(program_,
                  "--teams N,{}: value rows of '{}' read its inputs while a state goes through a round again, when the "
                  "next ones are copied: give --save-every {} or use --teams N,1",
                  plan_.teams, chunk::ProgramOp(program_).getRecurrence().str(),
                  plan_.teams * static_cast<int64_t>(program_.getChunk()));
  }

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
  std::pair<warp::LoopOp, Value> begin_loop(Value initial, llvm::StringRef over, bool reverse, llvm::StringRef name,
                                            bool beside = false) {
    auto loop = create<warp::LoopOp>(initial.getType(), initial, over, reverse,
                                     /*ahead=*/over == "groups" && groups_ahead(), beside);
    Block& body = loop.getBody().emplaceBlock();
    b_.setInsertionPointToEnd(&body);
    Value state = body.addArgument(tile(), program_.getLoc());
    set_name(state, name);
    return {loop, state};
  }

  Value groups(Value initial) {
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, dS] = begin_loop(initial, "groups", /*reverse=*/true, (carried() + "_group").str());
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
    chunks(*again_, again_->copies().as_carried(S), "group");
    if (ahead) create<warp::WaitCopiesOp>(0);
    create<warp::NoteOp>("Backward through the group.");
    create<warp::BarrierOp>();
    if (ahead) again_->copies().start_next_group();
    create<warp::YieldOp>(chunks(*main_, dS, "group"));
    return loop.getResult();
  }

  bool has_saved_state() { return !program_.getBody().getOps<chunk::SavedStateOp>().empty(); }

  // Before states are loaded: warps that prepare rounds ahead do nothing else.
  void start_teams() {
    main_->buffers().declare_rings(/*everywhere=*/false);
    auto start_copies = [&] {
      main_->copies().start_early(0);
      if (!plan_.preparers()) main_->copies().start_late(0);
    };
    if (main_->copies().has_early() || !plan_.preparers()) team(start_copies);
    if (plan_.preparers()) prepare_ahead();
  }

  Value all_rounds(Value initial) {
    if (main_->state_carries_scale(/*saved=*/false)) initial = begin_scale(initial, /*saved=*/false);
    if (main_->state_decays_later()) initial = create<warp::DecayingOp>(initial, Value());
    return alone(plan_.preparers() ? prepared_rounds(initial) : rounds(initial));
  }

  // A state without what it carries from chunk to chunk of rounds.
  Value alone(Value state) {
    if (main_->state_decays_later()) return create<warp::SettledOp>(state);
    return main_->state_carries_scale(/*saved=*/false) ? create<warp::WithoutScaleOp>(state) : state;
  }

  Value begin_scale(Value state, bool saved) {
    return create<warp::WithScaleOp>(state, main_->state_shares_scale(saved));
  }

  // By warps of their own, ahead of those that take the state through a round.
  void prepare_ahead() {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&create<warp::PrepareOp>().getBody().emplaceBlock());
    team([&] {
      create<warp::ClaimOp>(refuses_early(program_));
      main_->prepare_round();
      create<warp::PublishOp>();
    });
  }

  // The state through all rounds that others prepare.
  Value prepared_rounds(Value initial) {
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, state] = begin_loop(initial, "rounds", /*reverse=*/false, (carried() + "_round").str());
    create<warp::YieldOp>(through_round(*main_, state, Way::own));
    return loop.getResult();
  }

  // Each team prepares its chunk of a round, the states go through the round, then each team finishes its chunk.
  Value rounds(Value initial) {
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, state] = begin_loop(initial, "rounds", backward(), (carried() + "_round").str());
    Value S_round;
    if (has_saved_state()) {
      S_round = main_->copies().load_saved();
      set_name(S_round, "S_round");
      if (again_) S_round = through_first_round(S_round);
    }
    team([&] { main_->prepare_round(); });
    if (!main_->meets_first(/*saved=*/has_saved_state())) create<warp::BarrierOp>();
    const bool both = main_->takes_both_at_once();
    if (S_round) {
      create<warp::NoteOp>(both ? "The states before the chunks of this round, and at once backward through it."
                                : "The states before the chunks of this round.");
      S_round = main_->copies().saved_state(S_round);  // not before: the teams need not wait for it
      if (main_->state_carries_scale(/*saved=*/true)) S_round = begin_scale(S_round, /*saved=*/true);
      through_round(*main_, S_round, Way::saved);
      // Else what warps store for one state would replace what others read for the other.
      if (!main_->takes_both_together() && !main_->shares_maximum(/*saved=*/false)) create<warp::BarrierOp>();
    }
    if (!both) create<warp::NoteOp>(backward() ? "Backward through the round." : "The state goes through the round.");
    Value next = through_round(*main_, state, Way::own);
    create<warp::BarrierOp>(refuses_early(program_));
    team([&] {
      if (main_->has_finish()) {
        main_->finish_chunk();
        if (main_->ends_together()) create<warp::BarrierOp>();
      }
      if (!main_->buffers().copies_last()) main_->copies().start_late(plan_.round_chunks());
    });
    create<warp::YieldOp>(next);
    return loop.getResult();
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
    auto [loop, S] = begin_loop(initial, "round", backward() && own, own ? carried() : "S_before",
                                /*beside=*/own && builder.takes_both_at_once());
    if (plan_.preparers()) create<warp::AwaitOp>(refuses_early(program_));
    builder.set_state(S, builder.state_carries_scale(saved));
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
    return again_ && plan_.teams == 1 && (!groups_ahead() || chunk::ProgramOp(program_).getSavedEvery() > 2);
  }

  // A loop over chunks and what has to come before it.
  Value chunks(WarpBuilder& builder, Value initial, llvm::StringRef over) {
    bool recomputes = &builder != &*main_, started = over == "group" && groups_ahead();
    if (!started) {
      builder.buffers().declare_rings(/*everywhere=*/over == "chunks");
      builder.copies().start(/*of_state=*/true);
    }
    OpBuilder::InsertionGuard guard(b_);
    auto [loop, S] = begin_loop(initial, over, backward() && !recomputes, recomputes ? "S_before" : carried());
    builder.set_state(S);
    if (saves()) save_state(as_stored(S));
    if (!started) builder.copies().wait();
    builder.begin_chunk();
    for (int phase = 0; phase < builder.phases(); ++phase) builder.phase(phase);
    if (recomputes) keep_state(builder.copies().as_stored(builder.next_state()));
    if (intermediate()) store_intermediate(as_stored(builder.next_state()));
    // At its end, so that nothing waits here for what is started after this loop has begun.
    if (started && builder.copies().go_ahead()) create<warp::WaitCopiesOp>(0);
    create<warp::YieldOp>(builder.next_state());
    return loop.getResult();
  }

  chunk::ProgramOp program_, recompute_;
  OpBuilder& b_;
  Type saved_type_;
  int64_t blocks_;  // that a multiprocessor holds; 0: not known yet
  Plan plan_;
  Schedule::Memory memory_;  // of the last plan
  std::deque<SharedBuffer> spaces_;
  std::optional<WarpBuilder> main_, again_;  // of the program; of the one that recomputes states, if there is one
  std::int64_t shared_ = 0, of_team_ = 0;
  ArrayAttr tensors_;
  Value unit_;  // of gradients; null if they have none
};

}  // namespace

void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, ModuleOp kernels) {
  OpBuilder b(program.getContext());
  b.setInsertionPointToEnd(kernels.getBody());
  const Plan plan = wkvc::plan(program, recompute);
  if (plan.teams > 1) make_room_for_products(program, plan.team_warps);
  KernelBuilder(program, recompute, maps, plan, b).run();
  if (program.getPlain()) return;  // what it refuses comes first
  if (program.getSummary()) add_combine(program, b);
  add_batch_sums(program, b);
  add_token_sums(program, b);
  add_head_sums(program, b);
}

}  // namespace wkvc
