// wkvc check: the emitted kernel against the recurrence in float64.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "checking/advice.h"
#include "checking/execute.h"
#include "checking/output.h"
#include "checking/reference/comparison.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "checking/values/arrangement.h"
#include "checking/values/case_file.h"
#include "checking/values/declared_ranges.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

struct CheckOptions {
  SubjectOptions subject;
  ConfigOptions config;
  std::optional<std::string> shape, input, device, seed;
  bool json = false;
};

struct Findings {
  LaunchSize size;
  std::vector<ResultError> errors;
  std::vector<std::string> missing;  // results that the kernels do not give
  std::vector<Refusals> refusals = {};

  bool passed() const {
    return missing.empty() && !errors.empty() && std::ranges::all_of(errors, &ResultError::passed);
  }
  std::string shape() const {
    std::string text = fmt::format("{},{},{}", size.batches, size.tokens, size.heads);
    if (size.group() > 1) text += fmt::format("/{}", size.shared_heads);
    return size.map ? fmt::format("{} of {} sequences", text, size.map->count) : text;
  }
};

nlohmann::ordered_json json_of(const WorstRow& row) {
  nlohmann::ordered_json object;
  for (const auto& [name, index] : row.place) object[std::string(name)] = index;
  object["error"] = row.error;  // null when not finite
  object["bound"] = row.bound;
  return object;
}

void print_json(const Runnable& runnable, Target target, const Findings& findings) {
  nlohmann::ordered_json errors = nlohmann::ordered_json::object(), bounds = errors, worst = errors;
  for (const ResultError& result : findings.errors) {
    errors[result.tensor] = result.error;  // null when not finite
    bounds[result.tensor] = result.bound;
    if (result.worst) worst[result.tensor] = json_of(*result.worst);
  }
  nlohmann::ordered_json report{{"op", runnable.manifest.op},
                                {"device", device_name(target)},
                                {"config", runnable.manifest.config},
                                {"shape", findings.shape()}};
  if (runnable.passes != Passes::forward) report["pass"] = name_of(runnable.passes);
  report["errors"] = errors;
  report["bounds"] = bounds;
  report["worst"] = worst;
  report["missing"] = findings.missing;
  report["refused"] = nlohmann::ordered_json::object();
  for (const Refusals& kernel : findings.refusals)
    report["refused"][kernel.tensor] = {{"blocks", kernel.blocks}, {"refused", kernel.refused}};
  report["passed"] = findings.passed();
  print("{}\n", report.dump());
}

std::string error_text(double error, double bound) {
  if (!std::isfinite(error)) return "NOT FINITE";
  return fmt::format("error {:.2e}, {} {:.1e}", error, error <= bound ? "within" : "ABOVE", bound);
}

std::string error_text(const ResultError& result) {
  std::string norm = error_text(result.error, result.bound);
  if (!result.worst) return norm;
  return fmt::format("{}; worst at {}: {}", norm, text_of(result.worst->place),
                     error_text(result.worst->error, result.worst->bound));
}

void print_rows(const Runnable& runnable, Target target, const Findings& findings) {
  print("{} on {}, {}, shape {}{}\n", runnable.manifest.op, device_name(target), runnable.manifest.config,
        findings.shape(), pass_text(runnable.passes));
  std::size_t width = 16;
  for (const ResultError& result : findings.errors) width = std::max(width, result.tensor.size());
  for (const ResultError& result : findings.errors) print("  {:<{}} {}\n", result.tensor, width, error_text(result));
  for (const std::string& name : findings.missing) {
    print("  {:<{}} MISSING: the recurrence has it, the kernels do not give it\n", name, width);
  }
  for (const std::string& text : refusal_texts(findings.refusals)) print("  {}\n", text);
  print("{}\n", findings.passed() ? "passed" : "FAILED");
}

Findings compared(rec::RecurrenceOp recurrence, const Subject& subject, const Runnable& runnable, const Case& values,
                  const std::optional<SafetensorsFile>& file) {
  const Reference reference(recurrence, runnable, values);
  Findings findings{values.size, compare(reference, runnable, values),
                    missing_results(recurrence, runnable, subject.config.gradients)};
  if (file)
    std::ranges::move(compare_with_file(*file, reference, runnable, values), std::back_inserter(findings.errors));
  return findings;
}

// Heads that share what no input of the kernels may share.
void expect_shared(const Subject& subject, const Manifest& manifest, const CheckOptions& options, LaunchSize size) {
  if (size.group() == 1 || std::ranges::any_of(manifest.tensors, is_shared)) return;
  user_error("--shape {}: {} of {} heads are shared, but no input of {} is: {}", *options.shape, size.shared_heads,
             size.heads, subject.origin,
             subject.source.stage < Stage::chunk ? "name some, such as --shared r,k"
                                                 : "start from a text of the rec stage, with --shared NAMES");
}

// A text has the gradients that it has.
void expect_gradients(const Subject& subject, rec::RecurrenceOp recurrence, const Runnable& runnable) {
  if (subject.config.gradients.empty()) return;
  const std::vector<std::string> unwanted = unwanted_results(recurrence, runnable, subject.config.gradients);
  if (unwanted.empty()) return;
  user_error("--grad {}: {} gives {}, too; name what it was made with, or leave --grad out",
             fmt::join(subject.config.gradients, ","), subject.origin, fmt::join(unwanted, ", "));
}

int check(const CheckOptions& options) {
  if (options.input && (options.shape || options.seed)) {
    user_error("{} goes with random inputs; with --input the file decides", options.shape ? "--shape" : "--seed");
  }
  expect_one_reader(options.subject.source, options.input);
  const Shape shape = parse_sequences(options.shape.value_or("1,100,2"));
  const std::uint64_t seed = parse_seed(options.seed.value_or("0"));
  const Target target = target_from(options.device);
  const Subject subject = subject_from(options.subject, options.config, /*may_name_gradients=*/true);
  const Runnable runnable = runnable_from(subject);
  advise(subject);
  const Manifest& manifest = runnable.manifest;
  expect_shared(subject, manifest, options, shape.size);

  mlir::MLIRContext context;
  const auto module = rec::parse(subject.reference(manifest), subject.origin, context);
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  expect_gradients(subject, recurrence, runnable);
  std::optional<SafetensorsFile> file;
  if (options.input) file = read_tensors(manifest, *options.input);
  Case values = file ? case_of_user(recurrence, manifest, *file)
                     : random_case(recurrence, manifest, shape.size, seed, Decays::steep_too);
  if (!file) values.sequences = shape.sequences;
  std::vector<Refusals> refusals;
  const std::string failure = execute(subject, load_program(subject, runnable, target), values, &refusals);
  if (!failure.empty()) complain(failure.c_str());
  Findings findings = compared(recurrence, subject, runnable, values, file);
  findings.refusals = std::move(refusals);

  options.json ? print_json(runnable, target, findings) : print_rows(runnable, target, findings);
  return findings.passed() ? exit_passed : exit_check_failed;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("check", "Errors of the kernel against the float64 recurrence");
  const auto options = std::make_shared<CheckOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command
      ->add_option(
          "--shape", options->shape,
          "Of random inputs: batch, tokens, heads (1,100,2); or lengths of sequences one behind the other, and "
          "heads and shared heads (1,64+0+36,8/2)")
      ->type_name("B,T,H");
  command->add_option("--input", options->input, "Tensors by name, in the safetensors format; - is the standard input")
      ->type_name("FILE");
  command->add_option("--device", options->device, "cpu or cuda (cuda where there is a GPU)")->type_name("DEVICE");
  command->add_option("--seed", options->seed, "Of random inputs (0)")->type_name("N");
  command->add_flag("--json", options->json, "One line of JSON");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace wkvc
