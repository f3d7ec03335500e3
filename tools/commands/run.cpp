// wkvc run: tensors by name in, results by name out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "checking/execute.h"
#include "checking/output.h"
#include "checking/reference/rows.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "checking/values/case_file.h"
#include "checking/values/declared_ranges.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

struct RunOptions {
  SubjectOptions subject;
  ConfigOptions config;
  std::string input, output;
  std::optional<std::string> device;
};

TensorMap results_of(const Runnable& runnable, Case& values) {
  TensorMap results;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (!gives(runnable.passes, spec.role)) continue;
    results.emplace(spec.name, std::move(values.tensors.at(spec.name)));
  }
  return results;
}

struct NotFinite {
  std::size_t count = 0;
  Place first;
};

NotFinite not_finite_in(const HostTensor& result, const Rows& rows) {
  NotFinite found;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::isfinite(result.get(i))) continue;
    if (found.count++ == 0) found.first = rows.place(i / rows.length());
  }
  return found;
}

struct Report {
  std::string text;
  bool all_finite = true;
};

// Returns one line for each result, in the kernels' order.
Report report_on(const Runnable& runnable, LaunchSize size, const TensorMap& results) {
  Report report;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (!results.contains(spec.name)) continue;
    const HostTensor& result = results.at(spec.name);
    const NotFinite found = not_finite_in(result, Rows(spec, runnable.manifest, size));
    report.text += fmt::format("  {:<16} {} {}", spec.name, name_of(result.dtype()), shape_text(result.shape()));
    if (found.count > 0) {
      report.all_finite = false;
      report.text +=
          fmt::format(": {} of {} NOT FINITE, first at {}", found.count, result.size(), text_of(found.first));
    }
    report.text += "\n";
  }
  return report;
}

// The same, if the recurrence is known: a kernel's text declares no ranges.
void complain_of_ranges(const Subject& subject, const Manifest& manifest, const Case& values,
                        const std::filesystem::path& path) {
  if (!subject.has_reference(manifest)) return;
  mlir::MLIRContext context;
  const auto module = rec::parse(subject.reference(manifest), subject.origin, context);
  complain_of_ranges(rec::recurrence_of(*module), manifest, values, path);
}

int run(const RunOptions& options) {
  expect_output(options.output, {options.input, options.subject.source});
  expect_one_reader(options.subject.source, options.input);
  expect_no_terminal(options.output, "safetensors files are");
  const Target target = target_from(options.device);
  const Subject subject = subject_from(options.subject, options.config);
  const Runnable runnable = runnable_from(subject);
  const Manifest& manifest = runnable.manifest;
  SafetensorsFile file = read_tensors(manifest, options.input);
  Case values = case_from_file(manifest, file);
  complain_of_unused(values, manifest, file.path);
  complain_of_ranges(subject, manifest, values, file.path);
  const std::string failure = execute(subject, load_program(subject, runnable, target), values);
  if (!failure.empty()) user_error("{}", failure);
  const TensorMap results = results_of(runnable, values);
  write_safetensors(options.output, results, {{"op", manifest.op}, {"config", manifest.config}});
  const Report report = report_on(runnable, values.size, results);
  print_beside(options.output, fmt::format("{} on {}, {}{}\n{}", manifest.op, device_name(target), manifest.config,
                                           pass_text(runnable.passes), report.text));
  return report.all_finite ? exit_passed : exit_check_failed;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Runs the kernels on tensors of a file");
  const auto options = std::make_shared<RunOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--input", options->input, "Tensors by name, in the safetensors format; - is the standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("--output", options->output, "Where the results go, likewise; - is the standard output")
      ->required()
      ->type_name("FILE");
  command->add_option("--device", options->device, "cpu or cuda (cuda where there is a GPU)")->type_name("DEVICE");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace wkvc
