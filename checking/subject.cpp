#include "checking/subject.h"

#include <utility>

#include "codegen/chunk/Chunk.h"
#include "codegen/config/config.h"
#include "codegen/ir/Text.h"
#include "codegen/rec/Rec.h"
#include "codegen/warp/Warp.h"
#include "dsl/registry.h"
#include "runtime/base/files.h"
#include "runtime/base/streams.h"
#include "runtime/error.h"
#include "runtime/manifest/joint_manifest.h"

namespace wkvc {
namespace {

// `f()`, with `origin` in front of messages about the user's mistakes that do not begin with it as their place.
template <class F>
auto with_origin(const std::string& origin, F f) {
  try {
    return f();
  } catch (const UserError& error) {
    if (std::string_view(error.what()).starts_with(origin + ":")) throw;
    user_error("{}: {}", origin, error.what());
  }
}

// The recurrence that a text is of; empty where it holds none, which carrying it further says better.
std::string recurrence_in(const Source& source) {
  if (source.stage == Stage::cuda) return manifests_from(source.text).front().op;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (source.stage == Stage::rec) {
    const auto module = rec::parse(source.text, source.file, context);
    return rec::recurrence_of(*module).getSymName().str();
  }
  context.loadDialect<chunk::ChunkDialect, warp::WarpDialect>();
  auto module = parse(source.text, context);
  for (mlir::Operation& op : *module->getBody()) {
    if (auto program = mlir::dyn_cast<chunk::ProgramOp>(op)) return program.getRecurrence().str();
    if (auto kernel = mlir::dyn_cast<warp::KernelOp>(op)) return kernel.getOp().str();
  }
  return "";
}

void expect_operator(const std::string& op, const Source& source) {
  const std::string found = recurrence_in(source);
  if (found.empty() || found == op) return;
  user_error("the text is of the recurrence '{}', and the operator named is '{}'; name '{}', or none", found, op,
             found);
}

void expect_unsettled(const Subject& subject, bool may_name_gradients) {
  std::vector<std::string> settled =
      with_origin(subject.origin, [&] { return settled_options(subject.source, subject.config); });
  if (may_name_gradients) std::erase(settled, "--grad");
  if (settled.empty()) return;
  user_error("{}: {}", subject.origin, settled_message(subject.source.stage, settled));
}

// Returns what the options of a command line say.
Config parsed(const ConfigOptions& options, const std::string& default_pass) {
  Config config = options.parse(default_pass);
  check_operands(config);
  return config;
}

Subject from_file(const std::string& path, const SubjectOptions& given, const ConfigOptions& config) {
  const std::string name = name_of_input(path);
  Subject subject{.source = {}, .config = {}, .from_file = true, .origin = name};
  std::string text = read_text(path, "text of a stage");
  subject.source = with_origin(name, [&] { return source_from(std::move(text)); });
  subject.source.file = name;
  if (given.op) with_origin(name, [&] { expect_operator(*given.op, subject.source); });
  const bool backward = with_origin(name, [&] { return has_backward(subject.source); });
  subject.config = parsed(config, backward ? "both" : "forward");
  return subject;
}

}  // namespace

Subject subject_from(const SubjectOptions& given, const ConfigOptions& config, bool may_name_gradients) {
  if (given.source) {
    if (given.source->empty()) user_error("--source '': expected the name of a file with the text of a stage");
    Subject subject = from_file(*given.source, given, config);
    expect_unsettled(subject, may_name_gradients);
    return subject;
  }
  if (!given.op) user_error("no operator given; name one (wkvc list shows them) or a file with --source");
  Subject subject{.source = {}, .config = parsed(config, "forward"), .from_file = false, .origin = *given.op};
  subject.source = rec_source(Registry::known().find(*given.op), subject.config);
  return subject;
}

std::string Subject::text(Stage stage) const {
  return with_origin(origin, [&] { return lower_to(source, stage, config); });
}

std::string Subject::after(const std::string& pass) const {
  return with_origin(origin, [&] { return dump_after(source, pass, config); });
}

std::string Subject::nest() const {
  return with_origin(origin, [&] { return explain_schedule(source, config); });
}

std::string Subject::program_text() const {
  return with_origin(origin, [&] { return lower_to(source, Stage::cuda, with_forward(config)); });
}

std::vector<Manifest> Subject::manifests_in(const std::string& text) const {
  return with_origin(origin, [&] { return manifests_from(text); });
}

Manifest Subject::joint(const std::vector<Manifest>& manifests) const {
  return with_origin(origin, [&] { return joint_manifest(manifests); });
}

bool Subject::has_reference(const Manifest& manifest) const {
  return source.stage == Stage::rec || Registry::known().contains(manifest.op);
}

std::string Subject::reference(const Manifest& manifest) const {
  if (source.stage == Stage::rec) return text(Stage::rec);
  Config dims;
  dims.key_dim = manifest.key_dim;
  dims.value_dim = manifest.head_values();
  return with_origin(origin + ": a text of this stage is compared with the built-in operator of its name",
                     [&] { return rec_text(Registry::known().find(manifest.op), dims); });
}

}  // namespace wkvc
