#include "codegen/passes.h"

#include <mlir/IR/Iterators.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "codegen/differentiate/Differentiate.h"
#include "codegen/differentiate/KeptMatrices.h"
#include "codegen/emit/Emit.h"
#include "codegen/lower/ChainSums.h"
#include "codegen/lower/ChunkToWarp.h"
#include "codegen/lower/ColumnDots.h"
#include "codegen/lower/Factors.h"
#include "codegen/lower/Plain.h"
#include "codegen/lower/RecToChunk.h"
#include "codegen/lower/SharedInputs.h"
#include "codegen/lower/Slice.h"
#include "codegen/lower/StateScales.h"
#include "codegen/lower/Summary.h"
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

void lower_to_chunk(Work& work, const Config& config) {
  auto recurrence = rec::recurrence_of(*work.module);
  expect_inputs(recurrence, config.shared);
  const bool gradients = config.pass != "forward";
  if (config.scales == "guarded" || config.backward_scales == "guarded")
    work.of_plain = rec_to_plain_chunk(recurrence, config.chunk, gradients);
  work.module = rec_to_chunk(recurrence, config.chunk, gradients);
  for (ModuleOp module : work.modules()) share_inputs(module, config.shared);
}

void merge_common(Work& work, const Config&) {
  for (ModuleOp module : work.modules()) {
    PassManager passes(module.getContext());
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
int chunks_between_states(chunk::ProgramOp program, const Config& config) {
  int chunk = static_cast<int>(program.getChunk());
  int chunks = config.backward_teams > 1 ? config.backward_teams : std::max(64 / chunk, 1);
  int tokens = config.save_every ? config.save_every : chunks * chunk;
  if (tokens < chunk || tokens % chunk)
    user_error("--save-every {}: states are saved at the ends of chunks; expected a multiple of {} tokens", tokens,
               chunk);
  if (tokens > rec::max_save_every)
    user_error("--save-every {}: expected at most {} tokens between saved states", tokens, rec::max_save_every);
  return tokens / chunk;
}

// An inverse of keys that are like each other grows no further than the states that they make. Where one team's
// registers are short, of heads of 128, one more conversion made 132 instead of 100 bytes of them spill.
llvm::StringRef kept_dtype(chunk::ProgramOp forward, const Config& config) {
  return forward.getSaved() == "f16" && config.backward_teams > 1 ? "f16" : "f32";
}

void differentiate_program(ModuleOp module, const Config& config) {
  auto programs = programs_of(module);
  if (config.pass == "forward" || programs.size() != 1 || programs.front().getBackward()) return;
  auto forward = programs.front();
  forward.setSavedEvery(chunks_between_states(forward, config));
  if (!config.saved.empty()) forward.setSaved(config.saved);
  auto backward = differentiate(forward, config.gradients, kept_dtype(forward, config));
  const int of_round = std::max(1, config.backward_teams);
  if (backward.getBody().getOps<chunk::SavedStateOp>().empty()) {
    forward.setSavedEvery(0);
    backward.setSavedEvery(of_round);
  }
  if (of_round > 1) recompute_inside(forward, backward);
  const bool goes_through = of_round == 1 || !backward.getBody().getOps<chunk::UpdateSavedOp>().empty();
  if (goes_through && static_cast<int>(backward.getSavedEvery()) > of_round) recompute_program(forward, backward);
  if (config.pass == "backward") forward.erase();
}

void differentiate_programs(Work& work, const Config& config) {
  for (ModuleOp module : work.modules()) differentiate_program(module, config);
}

// A text that was cut before stays as it is.
void cut_into_segments(Work& work, const Config& config) {
  auto programs = all_programs(work);
  if (llvm::any_of(programs, [](auto program) { return program.getSegments() > 1; })) return;
  for (auto program : programs) {
    const int segments = is_backward(program) ? config.backward_segments : config.segments;
    if (segments <= 1) continue;
    if (program.getRecompute())
      program.setSegments(segments);
    else
      summarize(program, segments);
  }
}

// x + (y + p) becomes (x + y) + p where p is a contraction: each accumulates on what is there.
void chain_all_sums(Work& work, const Config&) {
  for (auto program : all_programs(work)) chain_sums(program);
}

void contract_all_columns(Work& work, const Config&) {
  for (auto program : all_programs(work)) contract_columns(program);
}

void scale_all_by_states(Work& work, const Config&) {
  for (auto program : all_programs(work)) {
    scale_by_states(program);
    scale_by_sums(program);
  }
}

void add_plain_programs(Work& work, const Config& config) {
  const auto plain = std::exchange(work.of_plain, {});
  auto programs = programs_of(*work.module), sources = plain ? programs_of(*plain) : programs;
  for (auto [program, source] : llvm::zip_equal(programs, sources)) {
    const std::string& scales = is_backward(program) ? config.backward_scales : config.scales;
    if (scales == "guarded") add_plain(program, source);
  }
}

void slice_programs(Work& work, const Config&) {
  for (auto program : all_programs(work)) slice(program);
}

void keep_matrices_for_teams(Work& work, const Config& config) {
  if (config.backward_teams > 1) keep_matrices(all_programs(work));
}

void keep_all_factors(Work& work, const Config& config) {
  if (config.backward_teams <= 1) return;
  for (auto program : all_programs(work)) keep_factors(program);
}

// Summaries have more warps than what teams were chosen for, and do without where these would be too many. So does what
// is refused without scales where teams take states through two rounds.
Crew crew_for(chunk::ProgramOp program, const Config& config) {
  const bool backward = program.getBackward();
  const Crew crew = crew_of(program, std::max(1, backward ? config.backward_teams : config.teams),
                            backward ? 1 : std::max(1, config.rounds), backward ? 1 : std::max(1, config.cluster));
  const bool again = backward && program.getRefused() && static_cast<int>(program.getSavedEvery()) > crew.teams;
  const bool alone = program.getSummary() ? !is_possible(crew) : again;
  return alone ? crew_of(program, 1) : crew;
}

StoredStates states_of(const Config& config) {
  StoredStates states;
  if (!config.state.empty()) states.dtype = config.state;
  if (config.state_layout == "kv") states.dims = "B,H,K,V";
  return states;
}

void lower_to_warp(Work& work, const Config& config) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(work.module->getLoc());
  chunk::ProgramOp none, recompute, plain_recompute;
  int64_t maps = 0;  // of the last summary, which comes before its program
  for (auto program : all_programs(work)) {
    bool summary = program.getSummary().has_value(), backward = program.getBackward();
    if (summary) maps = map_rows(program);
    if (program.getRecompute()) {
      // One that has no scales anyway is for both.
      if (!program.getRefused()) plain_recompute = program;
      if (!program.getPlain()) recompute = program;
      continue;
    }
    int blocks = summary ? 0 : backward ? config.backward_blocks : config.blocks;
    chunk_to_warp(program,
                  !backward || summary ? none
                  : program.getPlain() ? plain_recompute
                                       : recompute,
                  maps, config.arch, blocks, crew_for(program, config), states_of(config), *kernels);
  }
  work.module = std::move(kernels);
}

void emit_text(Work& work, const Config&) {
  for (Operation& op : *work.module->getBody()) {
    if (!work.cuda.empty()) work.cuda += "\n";
    if (auto kernel = dyn_cast<warp::KernelOp>(op)) work.cuda += emit_cuda(kernel);
    if (auto sum = dyn_cast<warp::BatchSumOp>(op)) work.cuda += emit_cuda(sum);
    if (auto sum = dyn_cast<warp::HeadSumOp>(op)) work.cuda += emit_cuda(sum);
    if (auto combine = dyn_cast<warp::CombineOp>(op)) work.cuda += emit_cuda(combine);
  }
}

constexpr Pass kPasses[] = {
    {"rec-to-chunk", "C tokens at once; decays factored where their range allows", Stage::rec, Stage::chunk,
     lower_to_chunk},
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
    {"kept-matrices",
     "what teams would make twice is kept by the forward program, where states go through a round again", Stage::chunk,
     Stage::chunk, keep_matrices_for_teams},
    {"factors", "behind teams, what gradients of wide heads are multiplied by last, in 16 bits", Stage::chunk,
     Stage::chunk, keep_all_factors},
    {"slice", "prologue, core and epilogue by dependence on the state", Stage::chunk, Stage::chunk, slice_programs},
    {"chunk-to-warp", "owners, phases, shared memory and barriers of one group of warps", Stage::chunk, Stage::warp,
     lower_to_warp},
    {"emit-cuda", "text that calls templates/", Stage::warp, Stage::cuda, emit_text},
};

}  // namespace

llvm::SmallVector<ModuleOp, 2> Work::modules() {
  llvm::SmallVector<ModuleOp, 2> modules{*module};
  if (of_plain) modules.push_back(*of_plain);
  return modules;
}

std::span<const Pass> all_passes() { return kPasses; }

}  // namespace wkvc
