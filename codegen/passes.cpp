#include "codegen/passes.h"

#include <mlir/IR/Iterators.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "codegen/chunk/DropUnused.h"
#include "codegen/chunk/Parts.h"
#include "codegen/chunk/SharedInputs.h"
#include "codegen/chunk/Slice.h"
#include "codegen/config/config.h"
#include "codegen/differentiate/Differentiate.h"
#include "codegen/differentiate/KeptMatrices.h"
#include "codegen/emit/Emit.h"
#include "codegen/ir/Where.h"
#include "codegen/nest/emit/Emit.h"
#include "codegen/passes/chunk/ChainSums.h"
#include "codegen/passes/chunk/ColumnDots.h"
#include "codegen/passes/chunk/Factors.h"
#include "codegen/passes/chunk/PairGradients.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk/SplitSums.h"
#include "codegen/passes/chunk/StateScales.h"
#include "codegen/passes/chunk/Summary.h"
#include "codegen/passes/chunk/TokenFactors.h"
#include "codegen/passes/chunk_to_nest/ChunkToNest.h"
#include "codegen/passes/chunk_to_nest/Refusal.h"
#include "codegen/passes/chunk_to_warp/ChunkToWarp.h"
#include "codegen/passes/place/CheckPlaces.h"
#include "codegen/passes/place/PlaceKernel.h"
#include "codegen/passes/place/PlacedText.h"
#include "codegen/passes/warp/Barriers.h"
#include "codegen/passes/warp/DeferredDecays.h"
#include "codegen/passes/warp/DropUnread.h"
#include "codegen/passes/warp/EarlyContractions.h"
#include "codegen/passes/warp/FoldedUnits.h"
#include "codegen/passes/warp/GroupContractions.h"
#include "codegen/passes/warp/HandOver.h"
#include "codegen/passes/warp/JoinedDecays.h"
#include "codegen/passes/warp/JoinedSums.h"
#include "codegen/passes/warp/ReusedExponentials.h"
#include "codegen/passes/warp/ScaledInputs.h"
#include "codegen/rec_to_chunk/RecToChunk.h"
#include "codegen/schedule/Fill.h"
#include "codegen/warp/Variables.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

llvm::SmallVector<chunk::ProgramOp> programs_of(ModuleOp module) {
  return llvm::to_vector(module.getBody()->getOps<chunk::ProgramOp>());
}

// In the order in which they run, those for plain ones last.
llvm::SmallVector<chunk::ProgramOp> all_programs(Work& work) {
  llvm::SmallVector<chunk::ProgramOp> programs;
  for (ModuleOp module : work.modules()) llvm::append_range(programs, programs_of(module));
  return programs;
}

bool is_backward(chunk::ProgramOp program) { return program.getBackward() || program.getRecompute(); }

// Returns the programs of a kernel by warp groups. Throws UserError for a recurrence that has none in such chunks.
OwningOpRef<ModuleOp> rec_to_warpgroups(rec::RecurrenceOp recurrence, bool gradients) try {
  constexpr int chunk = 64;
  auto module = rec_to_plain_chunk(recurrence, chunk, gradients);
  if (!module) module = rec_to_chunk(recurrence, chunk, gradients);
  for (auto program : programs_of(*module)) program.setWarpgroups(true);
  return module;
} catch (const UserError& error) {
  const std::string message = error.message(), all = error.what();
  throw UserError("--form warpgroups computes in chunks of 64, use --form strips: " + message,
                  all.substr(0, all.size() - message.size()));
}

void lower_to_chunk(Work& work, const Config& config) {
  auto recurrence = rec::recurrence_of(*work.module);
  expect_inputs(recurrence, config.shared);
  take_part(recurrence, config.parts, config.shared);
  const bool gradients = config.pass != "forward";
  if (is_by_warpgroups(config))
    work.of_plain = rec_to_warpgroups(recurrence, gradients);
  else if (config.scales == "guarded" || config.backward_scales == "guarded")
    work.of_plain = rec_to_plain_chunk(recurrence, config.chunk, gradients);
  work.module = rec_to_chunk(recurrence, config.chunk, gradients);
  for (ModuleOp module : work.modules()) {
    share_inputs(module, config.shared);
    for (auto program : programs_of(module)) set_parts(program, config.parts);
  }
}

// What options say of a program's schedule. What passes have done already stays: checkpoints once there is a backward
// program, segments once there is a summary.
Schedule filled(const Schedule& schedule, chunk::ProgramOp program, const Config& config, bool backward) {
  Schedule result = schedule;
  fill(result, config, backward, static_cast<int>(program.getChunk()), static_cast<int>(program.getKeyDim()));
  if (is_backward(program)) result.checkpoint = schedule.checkpoint;
  if (program.getSummary()) {
    result.grid.blocks = schedule.grid.blocks;
    result.grid.cluster = schedule.grid.cluster;
  }
  return result;
}

// What options say of a forward program that is to be differentiated.
void schedule_gradients(chunk::ProgramOp program, const Config& config) {
  OpBuilder b(program);
  if (config.pass != "forward" && !program.getGradients()) {
    program.setGradientsAttr(b.getStrArrayAttr({}));
    program.setGradientsOnly(config.pass == "backward");
  }
  if (!program.getGradients()) return;
  if (!config.gradients.empty())
    program.setGradientsAttr(
        b.getStrArrayAttr(llvm::SmallVector<llvm::StringRef>(config.gradients.begin(), config.gradients.end())));
  program.setOfGradients(filled(program.getOfGradients(), program, config, /*backward=*/true));
}

void give_intermediate_states(chunk::ProgramOp program, int every) {
  if (is_backward(program) || program.getGradients())
    user_error("--states-every {}: no gradients come from intermediate states; expected a forward program alone",
               every);
  if (every % static_cast<int>(program.getChunk()) != 0)
    user_error(
        "--states-every {}: states are those behind whole chunks; expected a multiple of {} tokens, or --chunk 1",
        every, program.getChunk());
  program.setStatesEvery(static_cast<uint64_t>(every));
}

void schedule_programs(ModuleOp module, const Config& config) {
  const auto programs = programs_of(module);
  const bool is_cut = llvm::any_of(programs, [](auto program) { return program.getSummary().has_value(); });
  for (auto program : programs) {
    Schedule schedule = filled(program.getSchedule(), program, config, is_backward(program));
    if (is_cut) schedule.grid.segments = program.getSchedule().grid.segments;
    program.setSchedule(schedule);
    if (config.arch != Config().arch) program.setArch(config.arch);
    if (!config.state.empty()) program.setStateDtype(config.state);
    if (!config.state_layout.empty()) program.setStateLayout(config.state_layout);
    if (config.states_every > 0) give_intermediate_states(program, config.states_every);
  }
  if (programs.size() == 1 && !is_backward(programs.front())) schedule_gradients(programs.front(), config);
}

void fill_schedules(Work& work, const Config& config) {
  for (ModuleOp module : work.modules()) schedule_programs(module, config);
}

void merge_common(Work& work) {
  for (ModuleOp module : work.modules()) {
    PassManager passes(module.getContext());
    passes.enableVerifier(false);  // codegen/compiler.cpp verifies what comes of all passes of a stage
    passes.addPass(createCSEPass());
    if (failed(passes.run(module))) internal_error("merge-common failed");
    // It leaves what only became dead on the way.
    module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation* op) {
      if (isOpTriviallyDead(op)) op->erase();
    });
  }
}

// By default every 64 tokens: with f32 states a tenth of what the tensors of a head of 64 take. Teams take one through
// each of their rounds, or through two of them, the first a second time.
Schedule with_checkpoints(Schedule schedule, int chunk) {
  if (schedule.checkpoint.every == 0)
    schedule.checkpoint.every = schedule.by_teams() ? schedule.round_chunks() : std::max(64 / chunk, 1);
  return schedule;
}

void set_checkpoints(chunk::ProgramOp program, int every, const Schedule& of) {
  program.reschedule([&](Schedule& schedule) {
    schedule.checkpoint = of.checkpoint;
    schedule.checkpoint.every = every;
  });
}

void differentiate_program(ModuleOp module) {
  auto programs = programs_of(module);
  if (programs.size() != 1 || !programs.front().getGradients()) return;
  auto forward = programs.front();
  const Schedule schedule = with_checkpoints(forward.getOfGradients(), static_cast<int>(forward.getChunk()));
  forward.setOfGradients(schedule);
  const bool only = forward.getGradientsOnly();
  auto backward = differentiate(forward);
  const int of_round = schedule.round_chunks();
  const bool saves = !backward.getBody().getOps<chunk::SavedStateOp>().empty();
  set_checkpoints(forward, saves ? schedule.checkpoint.every : 0, schedule);
  set_checkpoints(backward, saves ? schedule.checkpoint.every : of_round, schedule);
  if (of_round > 1) recompute_inside(forward, backward);
  const bool goes_through = of_round == 1 || !backward.getBody().getOps<chunk::UpdateSavedOp>().empty();
  if (goes_through && backward.getSavedEvery() > of_round) recompute_program(forward, backward);
  if (only) forward.erase();
}

void differentiate_programs(Work& work) {
  for (ModuleOp module : work.modules()) differentiate_program(module);
}

// A text that was cut before stays as it is.
void cut_into_segments(Work& work) {
  auto programs = all_programs(work);
  if (llvm::any_of(programs, [](auto program) { return program.getSummary().has_value(); })) return;
  for (auto program : programs) {
    if (program.getSegments() <= 1 || program.getRecompute()) continue;
    if (program.getPlain() || program.getRefused())
      user_error_at(
          program,
          "'{}' has guarded programs and {} segments, but no summary of segments: keep the summaries, or write "
          "segments = 1",
          program.getRecurrence().str(), program.getSegments());
    summarize(program);
  }
}

// x + (y + p) becomes (x + y) + p where p is a contraction: each accumulates on what is there.
void chain_all_sums(Work& work) {
  for (auto program : all_programs(work)) chain_sums(program);
}

void contract_all_columns(Work& work) {
  for (auto program : all_programs(work)) contract_columns(program);
}

void scale_all_by_states(Work& work) {
  for (auto program : all_programs(work)) {
    scale_by_states(program);
    scale_by_sums(program);
  }
}

// A block does by itself what a cluster refused, and has time for the votes that clusters do without (Causality).
// Summaries have more warps than what teams were chosen for, and do without where these would be too many. So does what
// is refused without scales where teams take states through two rounds: its states are all recomputed.
void simplify(chunk::ProgramOp program) {
  if (program.getRefused()) program.reschedule([](Schedule& simple) { simple.grid.cluster = 1; });
  const Schedule schedule = program.getSchedule();
  const bool again =
      program.getBackward() && program.getRefused() && schedule.checkpoint.every > schedule.round_chunks();
  const bool alone = program.getSummary() ? !is_possible(warps_of(program)) : again;
  if (!alone) return;
  drop_teams(program);
  auto updates = llvm::to_vector(program.getBody().getOps<chunk::UpdateSavedOp>());
  for (auto update : updates) update.erase();
  if (!updates.empty()) drop_unused(program);
}

// Throws UserError where a program by warp groups was asked for, but the program has no need of a guard or can't have
// one.
void expect_kernels_of_groups(llvm::SmallVector<chunk::ProgramOp> sources,
                              llvm::SmallVector<chunk::ProgramOp> programs) {
  for (auto [source, program] : llvm::zip_equal(sources, programs))
    if (source.getWarpgroups() && !program.getRefused())
      refuse_form(program, "'{}' has no operands in f16 that a guard could see", program.getRecurrence().str());
}

void add_plain_programs(Work& work) {
  const auto plain = std::exchange(work.of_plain, {});
  auto programs = programs_of(*work.module), sources = plain ? programs_of(*plain) : programs;
  for (auto [program, source] : llvm::zip_equal(programs, sources))
    if (program.getSchedule().numerics == Numerics::guarded) add_plain(program, source);
  expect_kernels_of_groups(sources, programs);
  for (auto program : programs_of(*work.module)) {
    if (!program.getPlain() && !program.getRefused())  // it has no need of a guard, or can't have one
      program.reschedule([](Schedule& schedule) { schedule.numerics = Numerics::scaled; });
    simplify(program);
  }
}

void move_all_token_factors(Work& work) {
  bool moved = false;
  for (auto program : all_programs(work)) moved |= move_token_factors(program);
  if (!moved) return;
  merge_common(work);
  chain_all_sums(work);  // what has moved may come before contractions now
}

void slice_programs(Work& work) {
  for (auto program : all_programs(work)) slice(program);
}

bool is_by_teams(chunk::ProgramOp program) { return is_backward(program) && program.getSchedule().by_teams(); }

void keep_all_matrices(Work& work) { keep_matrices(all_programs(work)); }

void keep_all_factors(Work& work) {
  for (auto program : all_programs(work))
    if (is_by_teams(program)) keep_factors(program);
}

void delay_all_pair_gradients(Work& work) {
  for (auto program : all_programs(work))
    if (is_by_teams(program)) delay_pair_gradients(program);
}

void split_all_sums(Work& work) {
  for (auto program : all_programs(work))
    if (is_by_teams(program) && warps_of(program).team_warps > 1 && split_sums(program)) chain_sums(program);
}

// Puts the program that recomputes states for a backward one right before it. One that has no scales anyway is for both
// the plain and the refused backward program: each gets its own, as places may differ. One that is for none goes.
void pair_recomputes(Work& work) {
  chunk::ProgramOp recompute, plain_recompute;
  llvm::SmallPtrSet<Operation*, 2> taken;
  const auto programs = all_programs(work);
  for (auto program : programs) {
    if (program.getRecompute()) {
      if (!program.getRefused()) plain_recompute = program;
      if (!program.getPlain()) recompute = program;
      continue;
    }
    auto own = program.getPlain() ? plain_recompute : recompute;
    if (!own || !program.getBackward() || program.getSummary()) continue;
    if (taken.insert(own).second)
      own->moveBefore(program);
    else
      OpBuilder(program).clone(*own);
  }
  for (auto program : programs)
    if (program.getRecompute() && !taken.contains(program)) program.erase();
}

// Calls f(program, the program that recomputes states for it or null) for each kernel, where recomputing programs come
// right before those that they are for.
template <class F>
void for_each_kernel(ModuleOp module, F f) {
  chunk::ProgramOp recompute;
  for (auto program : programs_of(module)) {
    if (!program.getRecompute()) f(program, recompute);
    recompute = program.getRecompute() ? program : chunk::ProgramOp();
  }
}

void place_programs(Work& work) {
  for (auto program : all_programs(work)) expect_no_places(program);
  pair_recomputes(work);
  for_each_kernel(*work.module, [](chunk::ProgramOp program, chunk::ProgramOp recompute) {
    if (!program.getWarpgroups()) place_kernel(program, recompute);
  });
}

void lower_to_warp(Work& work) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(work.module->getLoc());
  int64_t maps = 0;  // of the last summary, which comes before its program
  for_each_kernel(*work.module, [&](chunk::ProgramOp program, chunk::ProgramOp recompute) {
    if (program.getWarpgroups()) return chunk_to_nest(program, *kernels);
    if (program.getSummary()) maps = map_rows(program);
    chunk_to_warp(program, recompute, maps, *kernels);
  });
  work.module = std::move(kernels);
}

// Calls f(kernel) for each kernel of a program.
void for_each_program_kernel(Work& work, llvm::function_ref<void(warp::KernelOp)> f) {
  for (auto kernel : work.module->getBody()->getOps<warp::KernelOp>()) f(kernel);
}

void hand_over_all(Work& work) { for_each_program_kernel(work, hand_over); }
void place_all_barriers(Work& work) { for_each_program_kernel(work, place_barriers); }
void scale_all_inputs(Work& work) { for_each_program_kernel(work, scale_inputs); }
void reuse_all_exponentials(Work& work) { for_each_program_kernel(work, reuse_exponentials); }
void fold_all_units(Work& work) { for_each_program_kernel(work, fold_units); }
void join_all_sums(Work& work) { for_each_program_kernel(work, join_sums); }
void defer_all_decays(Work& work) { for_each_program_kernel(work, defer_decays); }
void drop_all_unread(Work& work) { for_each_program_kernel(work, drop_unread); }
void join_all_decays(Work& work) { for_each_program_kernel(work, join_decays); }
void contract_all_by_groups(Work& work) { for_each_program_kernel(work, contract_by_groups); }
void begin_all_contractions_early(Work& work) { for_each_program_kernel(work, begin_contractions_early); }
void name_all_variables(Work& work) { for_each_program_kernel(work, warp::name_variables); }

void emit_text(Work& work) {
  for (Operation& op : *work.module->getBody()) {
    if (!work.cuda.empty()) work.cuda += "\n";
    if (auto kernel = dyn_cast<warp::KernelOp>(op)) work.cuda += emit_cuda(kernel);
    if (auto sum = dyn_cast<warp::BatchSumOp>(op)) work.cuda += emit_cuda(sum);
    if (auto sum = dyn_cast<warp::HeadSumOp>(op)) work.cuda += emit_cuda(sum);
    if (auto combine = dyn_cast<warp::CombineOp>(op)) work.cuda += emit_cuda(combine);
    if (auto nest = dyn_cast<nest::KernelOp>(op)) work.cuda += nest::emit_cuda(nest);
  }
}

constexpr Pass kPasses[] = {
    {"rec-to-chunk", "C tokens at once; decays factored where their range allows", Stage::rec, Stage::chunk,
     lower_to_chunk},
    {"schedule", "what options say of the schedules of programs", Stage::chunk, Stage::chunk, fill_schedules},
    {"merge-common", "common subexpressions and dead values; before slicing, so that each value has one slice",
     Stage::chunk, Stage::chunk, merge_common},
    {"differentiate", "the backward program, if one is asked for", Stage::chunk, Stage::chunk, differentiate_programs},
    {"merge-gradients", "merge-common again, of what differentiation repeats", Stage::chunk, Stage::chunk,
     merge_common},
    {"segments", "a summary of each segment's influence on the state, if the sequence is cut", Stage::chunk,
     Stage::chunk, cut_into_segments},
    {"chain-sums", "sums of contractions as chains, so that each accumulates on the last", Stage::chunk, Stage::chunk,
     chain_all_sums},
    {"column-dots", "sums over values of products of two operands as contractions", Stage::chunk, Stage::chunk,
     contract_all_columns},
    {"state-scales", "operands made of a state take their scales from it", Stage::chunk, Stage::chunk,
     scale_all_by_states},
    {"plain", "before each program one without scales, if that is asked for", Stage::chunk, Stage::chunk,
     add_plain_programs},
    {"token-factors", "numbers of tokens multiply what contractions give, not their operands", Stage::chunk,
     Stage::chunk, move_all_token_factors},
    {"kept-matrices",
     "what teams would make twice is kept by the forward program, where states go through a round again", Stage::chunk,
     Stage::chunk, keep_all_matrices},
    {"factors", "behind teams, what gradients of wide heads are multiplied by last, in 16 bits", Stage::chunk,
     Stage::chunk, keep_all_factors},
    {"pair-gradients", "behind teams, gradients of pairs come last, with operands that are made again", Stage::chunk,
     Stage::chunk, delay_all_pair_gradients},
    {"split-sums", "behind teams, sums along tokens of sums of matrices, each matrix's by itself", Stage::chunk,
     Stage::chunk, split_all_sums},
    {"slice", "prologue, core and epilogue by dependence on the state", Stage::chunk, Stage::chunk, slice_programs},
    {"place", "which warps compute each value in which phase, and where the value is kept", Stage::chunk, Stage::placed,
     place_programs},
    {"chunk-to-warp", "loops, copies, shared memory and phases of all warps", Stage::placed, Stage::warp,
     lower_to_warp},
    {"hand-over", "who waits for whom at the slots that one role fills and another one reads", Stage::warp, Stage::warp,
     hand_over_all},
    {"barriers", "where warps meet, from what they read and write in each phase", Stage::warp, Stage::warp,
     place_all_barriers},
    {"scale-inputs", "in strips inputs take the scale of the operand that is made of them", Stage::warp, Stage::warp,
     scale_all_inputs},
    {"reuse-exponentials", "in strips exponentials come from those that are there", Stage::warp, Stage::warp,
     reuse_all_exponentials},
    {"fold-units", "the unit of gradients as part of what they are multiplied by last", Stage::warp, Stage::warp,
     fold_all_units},
    {"join-sums", "dots of columns and sums of rows over which lanes meet once", Stage::warp, Stage::warp,
     join_all_sums},
    {"defer-decays", "where teams prepare rounds ahead, the last decay of a chunk is left to the next one", Stage::warp,
     Stage::warp, defer_all_decays},
    {"drop-unread", "tiles, numbers and scales that nothing reads", Stage::warp, Stage::warp, drop_all_unread},
    {"join-decays", "behind teams, the last decay of a chunk and the first of the next one as one row", Stage::warp,
     Stage::warp, join_all_decays},
    {"group-contractions", "four warps read an operand together, and fences behind what teams store for them",
     Stage::warp, Stage::warp, contract_all_by_groups},
    {"early-contractions", "a contraction before those by groups does not wait for a product that it is added to",
     Stage::warp, Stage::warp, begin_all_contractions_early},
    {"name-variables", "a name for each variable of the text", Stage::warp, Stage::warp, name_all_variables},
    {"emit-cuda", "text that calls templates/", Stage::warp, Stage::cuda, emit_text},
};

}  // namespace

llvm::SmallVector<ModuleOp, 2> Work::modules() {
  llvm::SmallVector<ModuleOp, 2> modules{*module};
  if (of_plain) modules.push_back(*of_plain);
  return modules;
}

void Pass::run(Work& work, const Config& config) const {
  if (const auto* of_options = std::get_if<void (*)(Work&, const Config&)>(&function))
    return (*of_options)(work, config);
  std::get<void (*)(Work&)>(function)(work);
}

std::span<const Pass> all_passes() { return kPasses; }

void check_placed(ModuleOp module) {
  for_each_kernel(module, [](chunk::ProgramOp program, chunk::ProgramOp recompute) {
    if (recompute && (!program.getBackward() || program.getSummary()))
      user_error_at(recompute, "the program that recomputes states of '{}' is not right before a backward program",
                    recompute.getRecurrence().str());
    if (!program.getWarpgroups()) check_places(program, recompute);
  });
}

}  // namespace wkvc
