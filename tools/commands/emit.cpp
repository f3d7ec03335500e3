// wkvc emit: any stage, as text or (cubin) as bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "checking/output.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "runtime/base/streams.h"
#include "runtime/error.h"
#include "runtime/nvrtc/nvrtc.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

struct EmitOptions {
  SubjectOptions subject;
  ConfigOptions config;
  std::optional<std::string> stage, after, output;
};

// Every text stage, and what is compiled from the last one.
constexpr std::array<std::string_view, stage_names.size() + 2> all_stages() {
  std::array<std::string_view, stage_names.size() + 2> all;
  std::ranges::copy(stage_names, all.begin());
  all[stage_names.size()] = "ptx";
  all[stage_names.size() + 1] = "cubin";
  return all;
}

constexpr auto stages = all_stages();

std::string contents(const Subject& subject, std::size_t stage) {
  const auto last_text = static_cast<std::size_t>(Stage::cuda);
  if (stage < static_cast<std::size_t>(subject.source.stage)) {
    user_error("--stage {}: {} is a text of a later stage, {}", stages[stage], subject.origin,
               stages[static_cast<std::size_t>(subject.source.stage)]);
  }
  std::string text = subject.text(static_cast<Stage>(std::min(stage, last_text)));
  if (stage <= last_text) return text;
  const std::string arch = subject.manifests_in(text).front().arch;
  if (stages[stage] == "ptx") return compile_ptx(text, arch);
  const std::vector<char> cubin = compile_cubin(text, arch).cubin;
  return {cubin.begin(), cubin.end()};
}

std::size_t stage_from(const std::string& name) {
  const auto* const stage = std::ranges::find(stages, name);
  if (stage == stages.end()) user_error("--stage {}: not known here; expected {}", name, fmt::join(stages, ", "));
  return static_cast<std::size_t>(stage - stages.begin());
}

// The kernels of a text behind the stage chunk are there already, and so are gradients that a chunk text holds.
void expect_passes(const Subject& subject) {
  if (!subject.from_file || subject.source.stage < Stage::chunk) return;
  const bool backward = has_backward(subject.source);
  if (subject.source.stage == Stage::chunk && !backward) return;
  if (backward == (subject.config.pass != "forward")) return;
  user_error("--pass {}: {} holds {}; leave --pass out, or start from an earlier stage", subject.config.pass,
             subject.origin, backward ? "gradients, too" : "forward kernels alone");
}

int emit(const EmitOptions& options) {
  const std::string output = options.output.value_or("-");
  if (options.stage == "cubin") expect_no_terminal(output, "a cubin is");
  expect_output(output, {options.subject.source});
  const std::size_t stage = options.stage ? stage_from(*options.stage) : 0;
  const Subject subject = subject_from(options.subject, options.config);
  if (options.stage.has_value() == options.after.has_value()) {
    user_error("emit takes either --stage ({}) or --after PASS", fmt::join(stages, ", "));
  }
  expect_passes(subject);
  const std::string text = options.stage ? contents(subject, stage) : subject.after(*options.after);
  const std::string_view piece = text;
  write_output(output, {&piece, 1});
  return exit_passed;
}

}  // namespace

void add_emit(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("emit", "A stage as text, or the cubin");
  const auto options = std::make_shared<EmitOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--stage", options->stage, fmt::format("One of {}", fmt::join(stages, ", ")))->type_name("STAGE");
  command->add_option("--after", options->after, "Or the text after this pass of the compiler, and those before it")
      ->type_name("PASS");
  command->add_option("-o,--output", options->output, "Where to write it; - is the standard output (-)")
      ->type_name("FILE");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return emit(*options); }; });
}

}  // namespace wkvc
