#include "tests/mutants/batch.h"

#include <algorithm>
#include <array>

#include "runtime/base/files.h"
#include "runtime/base/process.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/error.h"

namespace wkvc::test {
namespace {

// One text with a symbol for each kernel.
std::string joined(const Manifest& manifest, const std::vector<std::string>& kernels) {
  std::string text = to_line(manifest) + "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n";
  const std::string start = "WKVC_KERNEL(" + manifest.kernel;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    text += "\n" + start + "_" + std::to_string(i) + kernels[i].substr(start.size());
  return text;
}

Metadata metadata_of(LaunchSize size, std::size_t variants) {
  return {{"batches", std::to_string(size.batches)},
          {"tokens", std::to_string(size.tokens)},
          {"heads", std::to_string(size.heads)},
          {"variants", std::to_string(variants)}};
}

std::vector<std::string> command_for(const std::filesystem::path& directory, Races races) {
  std::vector<std::string> command{
      "env", "CXX=" WKVC_RUNNER_CXX, "TSAN_OPTIONS=halt_on_error=0 symbolize=0 suppress_equal_addresses=0",
      races == Races::reported ? "WKVC_HOST_CXXFLAGS=-fsanitize=thread" : "WKVC_HOST_CXXFLAGS=-O0"};
  // ThreadSanitizer of gcc 12 does not start where the kernel randomizes more address bits than it knows.
  if (run_process({"setarch", "-R", "true"}).succeeded) command.insert(command.end(), {"setarch", "-R"});
  command.insert(command.end(), {WKVC_MUTANTS_RUNNER, directory.string()});
  return command;
}

// What the runner said about each variant.
std::vector<std::string> reports_of(const std::string& output, std::size_t variants) {
  std::vector<std::string> reports;
  std::size_t start = 0;
  for (std::size_t i = 0; i < variants; ++i) {
    start = output.find("variant " + std::to_string(i) + "\n", start);
    const std::size_t end = output.find("variant " + std::to_string(i + 1) + "\n", start);
    reports.push_back(output.substr(start, end - start));
  }
  return reports;
}

}  // namespace

std::vector<Outcome> run_batch(const MutantProblem& problem, const std::vector<std::string>& kernels, Races races) {
  const TemporaryDirectory directory;
  const std::string text = joined(problem.manifest, kernels);
  write_file_atomically(directory.path() / "kernels.cu", std::array{std::string_view(text)});
  write_safetensors(directory.path() / "memory.safetensors", problem.memory, metadata_of(problem.size, kernels.size()));
  const ProcessResult result = run_process(command_for(directory.path(), races));
  if (!result.succeeded) internal_error("the runner of the mutants failed:\n{}", result.output);
  std::vector<Outcome> outcomes;
  for (const std::string& report : reports_of(result.output, kernels.size())) {
    const auto file = directory.path() / (std::to_string(outcomes.size()) + ".safetensors");
    const bool raced = races == Races::reported && report.find("data race") != std::string::npos;
    const bool ran = std::filesystem::exists(file);
    outcomes.push_back({ran ? read_safetensors(file).tensors : problem.memory, raced, ran});
  }
  return outcomes;
}

// Halves the batch until each part compiles.
std::vector<Outcome> run_where_compiled(const MutantProblem& problem, const std::vector<std::string>& kernels,
                                        Races races) {
  try {
    return run_batch(problem, kernels, races);
  } catch (const InternalError& error) {
    if (std::string_view(error.what()).find("does not compile") == std::string_view::npos) throw;
  }
  if (kernels.size() == 1) return {{.results = problem.memory, .ran = false}};
  const auto middle = kernels.begin() + static_cast<std::ptrdiff_t>(kernels.size() / 2);
  auto outcomes = run_where_compiled(problem, {kernels.begin(), middle}, races);
  for (Outcome& outcome : run_where_compiled(problem, {middle, kernels.end()}, races))
    outcomes.push_back(std::move(outcome));
  return outcomes;
}

}  // namespace wkvc::test
