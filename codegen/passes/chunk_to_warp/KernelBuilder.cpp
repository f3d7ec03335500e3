#include "codegen/passes/chunk_to_warp/KernelBuilder.h"

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk_to_warp/ChunkLoops.h"
#include "codegen/passes/chunk_to_warp/FollowingKernels.h"
#include "codegen/passes/chunk_to_warp/KernelContext.h"
#include "codegen/passes/chunk_to_warp/StateTraits.h"
#include "codegen/passes/chunk_to_warp/StateTransfers.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/chunk_to_warp/body/ChunkSums.h"
#include "codegen/warp/Registers.h"

using namespace mlir;

namespace wkvc {

namespace {

// One kernel: what its roles do, and the rounds of its teams.
class KernelBuilder {
 public:
  explicit KernelBuilder(KernelContext& kernel)
      : k_(kernel), program_(kernel.program), plan_(kernel.plan), main_(*kernel.main) {}

  // `maps`: rows of the map that a summary of the program carries.
  void run(int64_t maps) {
    std::string name = kernel_name(
        program_, std::string(program_.getSummary() ? "_summary" : "") + (program_.getRefused() ? "_scaled" : ""));
    auto recompute = k_.memory.again() ? k_.memory.again()->program : chunk::ProgramOp();
    auto tensors = tensor_list(program_, recompute, k_.keeps_states(), maps);
    kernel_ =
        create<warp::KernelOp>(name, program_.getRecurrence(), plan_.warps(), program_.getSchedule(),
                               program_.getChunk(), program_.getKeyDim(), program_.getValueDim(), k_.memory.bytes(),
                               program_.getCompute(), tensors, program_.getArch(), k_.backward(),
                               program_.getSummaryAttr(), program_.getPlain().has_value(), program_.getRefused());
    OpBuilder::InsertionGuard guard(k_.b);
    k_.b.setInsertionPointToEnd(&kernel_.getBody().emplaceBlock());
    begin_guarded();
    if (plan_.by_teams()) declare_channels();
    main_.buffers().declare();
    if (k_.again) k_.again->buffers().declare();
    if (plan_.goes_ahead()) {
      main_.buffers().declare_rings(/*everywhere=*/false);
      role(warp::Work::prepare, [&] { prepare_ahead(); });
    }
    role(warp::Work::state, [&] { take_state(); });
    give_registers();
  }

 private:
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return k_.create<Op>(std::forward<Args>(args)...);
  }

  // The slots that chunks of a round have.
  void declare_channels() {
    const bool refuses = plan_.goes_ahead() && refuses_early(program_);
    for (const PlannedChannel& planned : k_.memory.channels()) {
      auto channel = create<warp::ChannelOp>(plan_.depth, planned.offset, planned.bytes, refuses);
      set_name(channel, planned.name);
      main_.buffers().lie_in(planned.name, channel);
      if (k_.again) k_.again->buffers().lie_in(planned.name, channel);
    }
  }

  // Those that prepare chunks are behind those of the state.
  template <class F>
  void role(warp::Work work, F build) {
    const bool prepares = work == warp::Work::prepare;
    auto role = create<warp::RoleOp>(work, prepares ? plan_.row_warps : 0,
                                     prepares ? plan_.preparers() : plan_.row_warps, IntegerAttr());
    OpBuilder::InsertionGuard guard(k_.b);
    k_.b.setInsertionPointToEnd(&role.getBody().emplaceBlock());
    build();
  }

  // Says how many registers a thread of each role has, where the roles have other numbers.
  void give_registers() {
    const auto registers = warp::role_registers(kernel_);
    if (!registers) return;
    role_of(kernel_, warp::Work::prepare).setRegisters(registers->prepare);
    role_of(kernel_, warp::Work::state).setRegisters(registers->state);
  }

  // All that the state's warps do.
  void take_state() {
    start_sums(main_.context());
    if (k_.groups_ahead()) main_.buffers().declare_rings(/*everywhere=*/true);  // it goes on from group to group
    if (plan_.by_teams() && !plan_.goes_ahead()) start_teams();
    if (plan_.goes_ahead()) create<warp::NoteOp>("Consumer warps: the state goes through the rounds.");
    Value state = load_first_state(k_);
    set_name(state, (k_.carried() + "_initial").str());
    state = plan_.by_teams() ? all_rounds(state) : k_.again ? through_groups(k_, state) : through_chunks(k_, state);
    set_name(state, (k_.carried() + "_end").str());
    if (program_.getPlain()) create<warp::RefuseOp>(refused_name(program_), state);
    store_last_state(k_, state);
    k_.begin_phase();
    end_sums(main_.context());
  }

  // Which blocks go on. What comes in and goes out of a plain backward kernel is in a unit of gradients.
  void begin_guarded() {
    if (program_.getRefused()) create<warp::OnlyRefusedOp>(refused_name(program_));
    if (!program_.getPlain()) return;
    llvm::SmallVector<llvm::StringRef> gradients;
    for (auto input : program_.getBody().getOps<chunk::InputOp>())
      if (input.getGradientOf()) gradients.push_back(input.getSym());
    auto expect = create<warp::ExpectOp>(gradients.empty() ? Type() : k_.b.getF32Type(), refused_name(program_),
                                         *program_.getPlain(), k_.b.getStrArrayAttr(gradients));
    if (!expect.getUnit()) return;
    set_name(expect.getUnit(), "unit");
    k_.set_unit(expect.getUnit());
  }

  // A state that the program carries, as it is outside.
  Value as_stored(Value state) { return main_.states().as_stored(alone(state)); }

  bool has_saved_state() { return !program_.getBody().getOps<chunk::SavedStateOp>().empty(); }

  // Before states are loaded.
  void start_teams() {
    main_.buffers().declare_rings(/*everywhere=*/false);
    team([&] {
      main_.copies().start_ahead(Copied::early, 0);
      main_.copies().start_round();
    });
  }

  Value all_rounds(Value initial) {
    if (state_carries_scale(k_.placed(), /*saved=*/false)) initial = begin_scale(initial, /*saved=*/false);
    return alone(plan_.goes_ahead() ? prepared_rounds(initial) : rounds(initial));
  }

  // A state without what it carries from chunk to chunk of rounds.
  Value alone(Value state) {
    return state_carries_scale(k_.placed(), /*saved=*/false) ? create<warp::WithoutScaleOp>(state) : state;
  }

  Value begin_scale(Value state, bool saved) {
    return create<warp::WithScaleOp>(state, state_shares_scale(k_.placed(), saved));
  }

  // By warps of their own, ahead of those that take the state through a round.
  void prepare_ahead() {
    if (main_.copies().has(Copied::early)) team([&] { main_.copies().start_ahead(Copied::early, 0); });
    create<warp::NoteOp>("Producer warps: each team prepares its chunk of every round, ahead of the state.");
    auto rounds = create<warp::SweepOp>(TypeRange(), warp::Over::rounds, false, false, false, ValueRange());
    OpBuilder::InsertionGuard guard(k_.b);
    k_.b.setInsertionPointToEnd(&rounds.getBody().emplaceBlock());
    team([&] { main_.prepare_round(); });
  }

  // The state through all rounds that others prepare.
  Value prepared_rounds(Value initial) {
    OpBuilder::InsertionGuard guard(k_.b);
    auto [loop, state] = k_.begin_loop(initial, warp::Over::rounds, /*reverse=*/false, (k_.carried() + "_round").str());
    create<warp::YieldOp>(through_round(main_, state, Way::own));
    return loop.getResult();
  }

  // Each team prepares its chunk of a round, the states go through the round, then each team finishes its chunk.
  Value rounds(Value initial) {
    OpBuilder::InsertionGuard guard(k_.b);
    auto [loop, state] = k_.begin_loop(initial, warp::Over::rounds, k_.backward(), (k_.carried() + "_round").str());
    Value saved = has_saved_state() ? saved_state_of_round() : Value();
    create<warp::NoteOp>("Each team prepares its chunk of the round.");
    team([&] { main_.prepare_round(); });
    k_.begin_phase();
    if (main_.copies().has(Copied::prepared)) team([&] { start_ahead(Copied::prepared); });
    if (saved) take_saved(saved);
    if (!takes_both_at_once(k_.placed().placement))
      create<warp::NoteOp>(k_.backward() ? "Backward through the round." : "The state goes through the round.");
    Value next = through_round(main_, state, Way::own);
    finish_round();
    create<warp::YieldOp>(next);
    return loop.getResult();
  }

  void start_ahead(Copied which) { main_.copies().start_ahead(which, plan_.round_chunks()); }

  Value saved_state_of_round() {
    Value saved = main_.states().load_saved();
    set_name(saved, "S_round");
    return k_.again ? through_first_round(saved) : saved;
  }

  // The saved state forward through a round. It is widened not before: the teams need not wait for it.
  void take_saved(Value saved) {
    create<warp::NoteOp>(takes_both_at_once(k_.placed().placement)
                             ? "The states before the chunks of this round, and at once backward through it."
                             : "The states before the chunks of this round.");
    Value S = main_.states().as_taken(saved);
    if (state_carries_scale(k_.placed(), /*saved=*/true)) S = begin_scale(S, /*saved=*/true);
    through_round(main_, S, Way::saved);
    // Else what warps store for one state would replace what others read for the other.
    if (!k_.placed().placement.division().together && !has_maximum(k_.placed(), /*saved=*/false))
      create<warp::BarrierOp>();
  }

  int phases_of_finish() const { return k_.placed().placement.division().finish; }
  bool has_finish() const { return phases_of_finish() > 0; }
  // Whether one of a team's warps may not go on to what follows it while others finish: they read what copies replace,
  // or the maxima of the next chunk, where no barrier is between.
  bool ends_together() {
    return (main_.copies().has(Copied::late) && !k_.placed().shared.ring_plan().copies_last()) ||
           phases_of_finish() == 1;
  }

  void finish_round() {
    if (has_finish())
      create<warp::NoteOp>("Each team finishes its chunk: gradients that no warp of value rows has alone.");
    create<warp::BarrierOp>(refuses_early(program_));
    team([&] {
      if (has_finish()) {
        main_.finish_chunk();
        if (ends_together()) create<warp::BarrierOp>();
      }
      if (!k_.placed().shared.ring_plan().copies_last()) start_ahead(Copied::late);
    });
  }

  // The state before the second of the two rounds that are between saved states.
  Value through_first_round(Value saved) {
    auto again = create<warp::AgainOp>(saved.getType(), saved);
    set_name(again.getResult(), "S_again");
    OpBuilder::InsertionGuard guard(k_.b);
    k_.b.setInsertionPointToEnd(&again.getBody().emplaceBlock());
    k_.again->buffers().declare_rings(/*everywhere=*/true);
    team([&] { k_.again->prepare_round([&] { main_.copies().start_next(); }); });
    create<warp::BarrierOp>();
    Value next = through_round(*k_.again, k_.again->states().as_taken(saved), Way::again);
    create<warp::BarrierOp>();
    next = k_.again->states().as_stored(next);
    // As the saved one is stored: f32 would take twice the registers until the teams have prepared the second round.
    if (next.getType() != saved.getType())
      next = create<warp::RoundOp>(saved.getType(), next, Value(), Value(), Value(), false, false, false);
    create<warp::YieldOp>(next);
    return again.getResult();
  }

  template <class F>
  void team(F build) {
    OpBuilder::InsertionGuard guard(k_.b);
    k_.b.setInsertionPointToEnd(&create<warp::TeamOp>().getBody().emplaceBlock());
    build();
  }

  // The saved state of a program that has two goes forward, as it does again by a program of its own.
  enum class Way { saved, again, own };
  Value through_round(WarpBuilder& builder, Value initial, Way way) {
    OpBuilder::InsertionGuard guard(k_.b);
    const bool own = way == Way::own, saved = way == Way::saved;
    auto [loop, S] = k_.begin_loop(initial, warp::Over::round, k_.backward() && own, own ? k_.carried() : "S_before",
                                   /*beside=*/own && takes_both_at_once(builder.context().placement()));
    builder.set_state(S, state_carries_scale(builder.context().placed, saved));
    if (saves_states(k_)) save_state(k_, as_stored(S));
    builder.take_state(saved);
    if (has_intermediate_states(k_)) store_intermediate_state(k_, as_stored(builder.next_state()));
    create<warp::YieldOp>(builder.next_state());
    return loop.getResult();
  }

  KernelContext& k_;
  chunk::ProgramOp program_;
  const Plan& plan_;
  WarpBuilder& main_;
  warp::KernelOp kernel_;
};

}  // namespace

void build_kernel(chunk::ProgramOp program, const KernelMemory& memory, int64_t maps, const Plan& plan, OpBuilder& b) {
  KernelContext kernel(program, memory, plan, b);
  KernelBuilder(kernel).run(maps);
}

}  // namespace wkvc
