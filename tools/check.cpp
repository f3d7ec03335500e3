// wkvc check: the emitted kernel against the recurrence in float64.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/error.h"
#include "tools/commands.h"
#include "tools/comparison.h"
#include "tools/execute.h"
#include "tools/subject.h"

namespace wkvc {
namespace {

struct Options {
  SubjectOptions subject;
  ConfigOptions config;
  std::optional<std::string> shape, input, device, seed;
  bool json = false;
};

bool all_passed(const std::vector<ResultError>& errors) {
  return !errors.empty() && std::ranges::all_of(errors, &ResultError::passed);
}

void print_json(const Runnable& runnable, Target target, const std::vector<ResultError>& errors) {
  nlohmann::ordered_json by_name = nlohmann::ordered_json::object();
  for (const ResultError& result : errors) by_name[result.tensor] = result.error;  // null when not finite
  nlohmann::ordered_json report{
      {"op", runnable.manifest.op}, {"device", device_name(target)}, {"config", runnable.manifest.config}};
  if (runnable.passes != Passes::forward) report["pass"] = name_of(runnable.passes);
  report["errors"] = by_name;
  report["passed"] = all_passed(errors);
  fmt::print("{}\n", report.dump());
}

void print_text(const Runnable& runnable, Target target, LaunchSize size, const std::vector<ResultError>& errors) {
  fmt::print("{} on {}, {}, shape {},{},{}{}\n", runnable.manifest.op, device_name(target), runnable.manifest.config,
             size.batches, size.tokens, size.heads, pass_text(runnable.passes));
  for (const ResultError& result : errors) {
    fmt::print("  {:<16} {}\n", result.tensor,
               std::isfinite(result.error) ? fmt::format("error {:.2e}, {} {:.1e}", result.error,
                                                         result.passed() ? "within" : "ABOVE", result.bound)
                                           : "NOT FINITE");
  }
  fmt::print("{}\n", all_passed(errors) ? "passed" : "FAILED");
}

int check(const Options& options) {
  if (options.input && (options.shape || options.seed)) {
    user_error("{} goes with random inputs; with --input the file decides", options.shape ? "--shape" : "--seed");
  }
  const LaunchSize size = parse_shape(options.shape.value_or("1,100,2"));
  const std::uint64_t seed = parse_seed(options.seed.value_or("0"));
  const Target target = target_from(options.device);
  const Subject subject = subject_from(options.subject, options.config);
  const Runnable runnable = runnable_from(subject);
  const Manifest& manifest = runnable.manifest;

  mlir::MLIRContext context;
  const auto module = rec::parse(subject.reference(manifest), subject.origin, context);
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  Case values =
      options.input ? case_from_file(manifest, *options.input) : random_case(recurrence, manifest, size, seed);
  const std::string failure = execute(subject, load_program(subject, runnable, target), values);
  if (!failure.empty()) fmt::print(stderr, "wkvc: {}\n", failure);
  std::vector<ResultError> errors = compare(recurrence, runnable, values);
  if (options.input && runnable.passes != Passes::forward) {
    std::ranges::move(compare_with_file(*options.input, runnable, values), std::back_inserter(errors));
  }

  if (options.json) {
    print_json(runnable, target, errors);
  } else {
    print_text(runnable, target, values.size, errors);
  }
  return all_passed(errors) ? exit_passed : exit_check_failed;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("check", "Errors of the kernel against the float64 recurrence");
  const auto options = std::make_shared<Options>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shape", options->shape, "Of random inputs: batch, tokens, heads (1,100,2)")
      ->type_name("B,T,H");
  command->add_option("--input", options->input, "Tensors by name, in the safetensors format")->type_name("FILE");
  command->add_option("--device", options->device, "cpu or cuda (cuda where there is a GPU)")->type_name("DEVICE");
  command->add_option("--seed", options->seed, "Of random inputs (0)")->type_name("N");
  command->add_flag("--json", options->json, "One line of JSON");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace wkvc
