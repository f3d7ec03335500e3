#include "codegen/compiler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/Verifier.h>

#include "codegen/chunk/Chunk.h"
#include "codegen/config/config.h"
#include "codegen/emit/TokenKernel.h"
#include "codegen/ir/NoRoom.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/nest/Nest.h"
#include "codegen/pairs.h"
#include "codegen/passes.h"
#include "codegen/rec/Rec.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Warp.h"
#include "runtime/error.h"
#include "runtime/manifest/kernel_names.h"
#include "runtime/manifest/manifest.h"

using namespace mlir;

namespace wkvc {

namespace {

// Overrides that apply to a recurrence already written down. Its shapes and storage are in its types.
void apply(rec::RecurrenceOp op, const Config& config) {
  OpBuilder b(op.getContext());
  if (!config.mma.empty()) op.setComputeAttr(b.getStringAttr(config.mma));
  if (config.sram) op.setSramBudgetAttr(b.getI64IntegerAttr(config.sram));
}

void apply(chunk::ProgramOp op, const Config& config) {
  if (config.sram) op.setSramBudgetAttr(OpBuilder(op.getContext()).getI64IntegerAttr(config.sram));
}

// Operations of a C++ recurrence, which are read from its text, are where they were written.
void relocate(ModuleOp module, const std::vector<WrittenAt>& lines) {
  module.walk([&](Operation* op) {
    auto at = op->getLoc()->findInstanceOf<FileLineColLoc>();
    if (!at || at.getLine() >= lines.size() || lines[at.getLine()].file.empty()) return;
    const WrittenAt& written = lines[at.getLine()];
    op->setLoc(FileLineColLoc::get(op->getContext(), written.file, static_cast<unsigned>(written.line),
                                   static_cast<unsigned>(written.column)));
  });
}

OwningOpRef<ModuleOp> read(const Source& source, const Config& config, MLIRContext& context) {
  context.loadDialect<rec::RecDialect, chunk::ChunkDialect, warp::WarpDialect, nest::NestDialect>();
  if (source.stage == Stage::rec) {
    auto module = rec::parse(source.text, source.file, context);
    relocate(*module, source.lines);
    apply(rec::recurrence_of(*module), config);
    return module;
  }
  auto module = parse(source.text, context);
  auto& operations = module->getBody()->getOperations();
  const bool placed = source.stage == Stage::placed, chunk = source.stage == Stage::chunk || placed;
  auto belongs = [&](Operation& op) {
    return chunk ? isa<chunk::ProgramOp>(op)
                 : isa<warp::KernelOp, warp::BatchSumOp, warp::HeadSumOp, warp::CombineOp, nest::KernelOp>(op);
  };
  if (operations.empty() || !llvm::all_of(operations, belongs))
    user_error("the text of this stage holds nothing but {}", chunk ? "chunk.program" : "warp.kernel or nest.kernel");
  check_pairs(*module, placed);
  module->walk([&](chunk::ProgramOp op) { apply(op, config); });
  if (placed) check_placed(*module);
  return module;
}

std::string text_of(Work& work, Stage stage) {
  if (stage == Stage::cuda) return std::move(work.cuda);
  if (stage == Stage::rec) return rec::print(*work.module);
  std::string text;
  for (Operation& op : *work.module->getBody()) text += print(&op);
  return text;
}

// What a user writes can come to more than the next stage takes.
void check_size(ModuleOp module, const Pass& pass) {
  for (Operation& op : *module.getBody()) {
    size_t limit = isa<chunk::ProgramOp>(op) ? chunk::kMaxOperations : warp::kMaxOperations, count = 0;
    op.walk([&](Operation*) { ++count; });
    if (!isa<rec::RecurrenceOp>(op) && count > limit)
      user_error_at(&op,
                    "the recurrence comes to {} operations after the pass {}, at most {} are supported: use fewer "
                    "rank-one terms or shorter expressions",
                    count, pass.name, limit);
  }
}

void check_verifies(ModuleOp module, const Pass& pass, Stage source) {
  std::string fault;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& d) {
    fault += d.str() + "\n";
    return success();
  });
  if (succeeded(verify(module))) return;
  if (source == Stage::placed && pass.output == Stage::warp)
    user_error("no kernel can have the places of this text: {}", fault);
  if (source == Stage::warp) user_error("the pass {} can't take the kernels of this text: {}", pass.name, fault);
  internal_error("what the pass {} built does not verify: {}", pass.name, fault);
}

[[noreturn]] void refuse_stage(std::string_view stage) {
  user_error("--chunk 1: a kernel of single tokens has the stages rec and cuda alone, without '{}'; leave --chunk out",
             stage);
}

// The CUDA text of a kernel of single tokens, which has no chunk and no warp stage.
std::string token_kernel(const Source& source, const Config& config) {
  check_config(config);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  return emit_token_kernel(rec::recurrence_of(*read(source, config, context)), config);
}

// Throws UserError for an edited manifest that is not that of its kernel, or of none, or names a GPU that no kernel is
// for.
void check_manifests(const std::string& text) {
  const std::vector<Manifest> manifests = manifests_from(text);
  expect_kernels(manifests, text);
  for (const Manifest& manifest : manifests)
    if (!is_target(manifest.arch))
      user_error("the manifest of the kernel \"{}\" says that its arch is \"{}\"; expected {}", manifest.kernel,
                 manifest.arch, sm_90a.arch);
}

using Passes = std::span<const Pass>;

// The last pass that leaves this stage.
const Pass* last_to(Stage stage) {
  const Pass* last = nullptr;
  for (const Pass& pass : all_passes())
    if (pass.output == stage) last = &pass;
  return last;
}

// Returns whether more passes give texts of the same stage. To verify a text takes longer than a pass.
bool is_followed_up(const Pass& pass) { return &pass != last_to(pass.output); }

// The passes from the first one that takes texts of the stage to `last`.
Passes passes_from(Stage stage, const Pass* last) {
  const Passes all = all_passes();
  const auto first = std::ranges::find_if(all, [&](const Pass& pass) { return pass.input >= stage; });
  return {&*first, last + 1};
}

// Returns the text after the last one of the passes.
std::string run_passes(const Source& source, Passes passes, const Config& given) {
  check_config(given);
  const Config config = completed(given);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Work work{read(source, config, context)};
  for (const Pass& pass : passes) {
    pass.run(work, config);
    for (ModuleOp module : work.modules()) {
      check_size(module, pass);
      const bool ends = !is_followed_up(pass) || &pass == &passes.back();
      if (ends) check_verifies(module, pass, source.stage);
      // Names of a kernel's variables come from names of values, before numbers tell equal ones apart.
      if (!ends && pass.output == Stage::warp) continue;
      for (Operation& op : *module.getBody()) make_names_unique(&op);
    }
  }
  return text_of(work, passes.back().output);
}

// Returns `run(config)` of a recurrence's whole head or, where a block has no room for its kernels and the
// configuration leaves the schedule open, of the first roomier configuration that has room.
template <class Run>
std::string with_room(const Source& source, const Config& config, const Run& run) {
  if (source.stage != Stage::rec || gives_schedule(config) || config.sram != 0) return run(config);
  std::exception_ptr no_room;
  for (const Config& each : roomier(config)) {
    try {
      return run(each);
    } catch (const NoRoom&) {
      no_room = std::current_exception();
    } catch (const UserError&) {
      if (!no_room) throw;  // else what is given does not go with this configuration
    }
  }
  std::rethrow_exception(no_room);
}

// Returns the configuration of a text that comes before the places which tell whether there is room.
Config before_places(const Source& source, const Config& config) {
  Config found = config;
  const auto place = [&](const Config& each) {
    found = each;
    return run_passes(source, passes_from(source.stage, last_to(Stage::placed)), each);
  };
  try {
    with_room(source, config, place);
  } catch (const NoRoom&) {
    return config;
  } catch (const UserError&) {  // a later stage says so
  }
  return found;
}

// Returns the text after the last one of the passes, with as much room as places need.
std::string lowered(const Source& source, Passes passes, const Config& config) {
  if (passes.back().output < Stage::placed) return run_passes(source, passes, before_places(source, config));
  return with_room(source, config, [&](const Config& each) { return run_passes(source, passes, each); });
}

}  // namespace

bool is_token_kernel(const Source& source, const Config& config) {
  return source.stage == Stage::rec && config.chunk == 1;
}

Source source_from(std::string text) {
  // The first word that is not in a comment says which stage this is.
  const std::pair<Stage, const char*> heads[] = {{Stage::cuda, "// wkvc-manifest:"}, {Stage::rec, "rec.recurrence"},
                                                 {Stage::placed, "#wkvc.phases"},    {Stage::chunk, "chunk.program"},
                                                 {Stage::warp, "warp.kernel"},       {Stage::warp, "nest.kernel"}};
  for (const auto& [stage, head] : heads)
    if (text.find(head) != std::string::npos) return {stage, std::move(text)};
  user_error(
      "this text is none of wkvc's stages: expected rec.recurrence, chunk.program, warp.kernel, nest.kernel, or "
      "emitted CUDA "
      "C++ with its wkvc-manifest line");
}

bool has_backward(const Source& source) {
  if (source.stage == Stage::cuda) {
    const auto is_backward = [](const Manifest& manifest) { return manifest.pass == Direction::backward; };
    return llvm::any_of(manifests_from(source.text), is_backward);
  }
  if (source.stage == Stage::rec) return false;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto module = read(source, {}, context);
  bool found = false;
  module->walk([&](chunk::ProgramOp program) { found |= program.getBackward() || program.getGradients(); });
  module->walk([&](warp::KernelOp kernel) { found |= kernel.getBackward(); });
  return found;
}

std::vector<std::string> settled_options(const Source& source, const Config& config) {
  std::vector<std::string> names = settled_options(source.stage, config);
  if (source.stage != Stage::chunk) return names;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto module = read(source, {}, context);
  const auto settle = [&](bool holds, std::initializer_list<const char*> spellings) {
    for (const char* spelling : spellings)
      if (holds && is_set(config_option(spelling), config)) names.emplace_back(spelling);
  };
  const auto programs = module->getBody()->getOps<chunk::ProgramOp>();
  settle(llvm::any_of(programs, [](auto program) { return program.getBackward(); }),
         {"--grad", "--save-every", "--saved"});
  settle(llvm::any_of(programs, [](auto program) { return program.getSummary().has_value(); }), {"--segments"});
  settle(llvm::any_of(programs, [](auto program) { return program.getRefused(); }), {"--scales"});
  return names;
}

std::string settled_message(Stage stage, const std::vector<std::string>& settled) {
  return fmt::format("the text has settled {}; leave it out, or {}", fmt::join(settled, ", "),
                     stage == Stage::rec ? "print another text with it" : "start from the text of an earlier stage");
}

std::string lower_to(const Source& source, Stage target, const Config& config) {
  if (source.stage < Stage::rec || source.stage > Stage::cuda)
    user_error("the source's stage is {}; expected {}", static_cast<int>(source.stage), fmt::join(stage_names, ", "));
  if (target < source.stage)
    user_error("the source is a {} stage; it can't be turned back into {}",
               stage_names[static_cast<std::size_t>(source.stage)], stage_names[static_cast<std::size_t>(target)]);
  if (source.stage == Stage::cuda) {
    check_manifests(source.text);
    return source.text;
  }
  if (target == source.stage) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    Work work{read(source, config, context)};
    return text_of(work, target);
  }
  if (is_token_kernel(source, config)) {
    if (target == Stage::cuda) return token_kernel(source, config);
    refuse_stage(stage_names[static_cast<std::size_t>(target)]);
  }
  const Pass* last = last_to(target);
  // A kernel's text is emitted as it is: passes change it where one of them is named.
  return lowered(source, source.stage == Stage::warp ? Passes(last, 1) : passes_from(source.stage, last), config);
}

std::string dump_after(const Source& source, const std::string& pass_name, const Config& config) {
  if (is_token_kernel(source, config)) refuse_stage(pass_name);
  std::string known;
  for (const Pass& pass : all_passes()) {
    if (pass.name == pass_name && pass.input >= source.stage)
      return lowered(source, passes_from(source.stage, &pass), config);
    known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  user_error("no pass '{}' runs on this source; the passes are {}", pass_name, known);
}

}  // namespace wkvc
