// wkvc explain: what the compiler decided, what the cubin uses, and how fast it can be at best.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/cubin.h"
#include "runtime/error.h"
#include "runtime/nvrtc.h"
#include "tools/commands.h"
#include "tools/occupancy.h"
#include "tools/report.h"
#include "tools/subject.h"
#include "tools/traffic.h"

namespace wkvc {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  SubjectOptions subject;
  ConfigOptions config;
  std::string shape = "8,4096,64";
  bool json = false;
};

// Of a copy on an H200, bytes read and written, measured.
constexpr double copy_bytes_per_second = 4.30e12;

Json cubin_report(const std::string& text, const Manifest& manifest) {
  std::string why_not;
  if (!nvrtc_available(&why_not)) return {{"unknown", why_not}};
  const CubinUsage usage = usage_from(compile_cubin(text, manifest.arch).log, manifest.kernel);
  const std::int64_t shared = manifest.shared_bytes + usage.static_shared;
  const Occupancy occupancy = occupancy_of(usage.registers, manifest.warps, shared);
  return {{"registers", usage.registers},      {"stack_bytes", usage.stack_bytes}, {"spill_stores", usage.spill_stores},
          {"spill_loads", usage.spill_loads},  {"shared_bytes", shared},           {"warps", manifest.warps},
          {"blocks_per_sm", occupancy.blocks}, {"limited_by", occupancy.limit}};
}

Json floor_report(const Manifest& manifest, const std::string& shape) {
  const std::int64_t bytes = bytes_moved(manifest, parse_shape(shape));
  return {{"shape", shape},
          {"bytes", bytes},
          {"ms", static_cast<double>(bytes) / copy_bytes_per_second * 1e3},
          {"why", "every tensor moved once at the 4.30 TB/s of a copy on an H200"}};
}

int explain(const Options& options) {
  const Subject subject = subject_from(options.subject, options.config);
  const std::string text = subject.text(Stage::cuda);
  const Manifest manifest = subject.manifest_in(text);
  Json report{{"op", manifest.op}, {"config", manifest.config}};
  report.update(Json::parse(explain_json(subject.source, subject.config)));
  report["cubin"] = cubin_report(text, manifest);
  report["floor"] = floor_report(manifest, options.shape);
  fmt::print("{}\n", options.json ? report.dump() : readable(report));
  return exit_passed;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Shared memory, dtypes, occupancy and floor time of the kernel");
  const auto options = std::make_shared<Options>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shape", options->shape, "Batch, tokens, heads of the floor time (8,4096,64)")
      ->type_name("B,T,H");
  command->add_flag("--json", options->json, "One line of JSON");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return explain(*options); }; });
}

}  // namespace wkvc
