// wkvc explain: what the compiler decided, what the cubin uses, and how fast it can be at best.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "checking/occupancy.h"
#include "checking/output.h"
#include "checking/subject.h"
#include "checking/traffic.h"
#include "codegen/target/Target.h"
#include "dsl/options.h"
#include "dsl/registry.h"
#include "runtime/cache/cubin_cache.h"
#include "runtime/cuda/cubin.h"
#include "runtime/error.h"
#include "runtime/nvrtc/nvrtc.h"
#include "tools/commands/commands.h"
#include "tools/commands/report.h"

namespace wkvc {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  SubjectOptions subject;
  ConfigOptions config;
  std::string shape = "8,4096,64";
  bool json = false, schedule = false;
};

// Measured on an H200: a copy, bytes read and written, and a large matrix product; f32 products take the FMA units.

// What f gives, and how long it takes.
template <class F>
auto timed(F f) {
  const auto start = std::chrono::steady_clock::now();
  auto result = f();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return std::pair(std::move(result), took.count());
}

Json kernel_report(const std::string& log, const Manifest& manifest) {
  const CubinUsage usage = usage_from(log, manifest.kernel);
  const std::int64_t shared = manifest.shared_bytes + usage.static_shared;
  const Occupancy occupancy = occupancy_of(usage.registers, manifest.warps, shared);
  return {{"registers", usage.registers},      {"stack_bytes", usage.stack_bytes}, {"spill_stores", usage.spill_stores},
          {"spill_loads", usage.spill_loads},  {"shared_bytes", shared},           {"warps", manifest.warps},
          {"blocks_per_sm", occupancy.blocks}, {"limited_by", occupancy.limit}};
}

// Of the only kernel, or a row for each.
Json cubin_report(const std::string& text, const std::vector<Manifest>& manifests) {
  std::string why_not;
  if (!nvrtc_available(&why_not)) return {{"unknown", why_not}};
  const std::vector<CubinResult> compiled = compile_cubins(text, manifests);
  if (manifests.size() == 1) return kernel_report(compiled.front().log, manifests.front());
  Json rows = Json::array();
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    rows.push_back({{"kernel", manifests[i].kernel}});
    rows.back().update(kernel_report(compiled[i].log, manifests[i]));
  }
  return rows;
}

// What saving states costs; null where none are saved.
Json saved_report(const Manifest& manifest) {
  const auto saved = std::ranges::find(manifest.tensors, Role::saved_states, &TensorSpec::role);
  if (saved == manifest.tensors.end()) return nullptr;
  const std::int64_t tokens = std::int64_t{manifest.saved_every} * manifest.chunk;
  const double state = static_cast<double>(manifest.key_dim) * manifest.head_values();
  return {
      {"every_tokens", tokens},
      {"dtype", name_of(saved->dtype)},
      {"bytes_per_token_and_head", state * static_cast<double>(size_of(saved->dtype)) / static_cast<double>(tokens)}};
}

// What the forward pass keeps of each token beside states; null for nothing.
Json kept_report(const Manifest& manifest) {
  Json rows;
  for (const TensorSpec& spec : manifest.tensors) {
    if (spec.role != Role::kept) continue;
    std::int64_t bytes = static_cast<std::int64_t>(size_of(spec.dtype));
    for (const std::int64_t extent : shape_of(spec, manifest, {1, 1, 1})) bytes *= extent;
    rows.push_back({{"tensor", spec.name}, {"dtype", name_of(spec.dtype)}, {"bytes_per_token_and_head", bytes}});
  }
  return rows;
}

// Returns the operations a second of contractions.
double flops_of(std::string_view operands) {
  if (operands == "f32") return sm_90a.fma_flops;
  return operands == "bf16x3" ? sm_90a.tensor_flops / 3 : sm_90a.tensor_flops;
}

// Seconds that one chunk's contractions take at least.
double arithmetic_seconds(const Json& contractions) {
  double seconds = 0;
  for (const Json& contraction : contractions) {
    double flops = 2;
    for (const Json& extent : contraction.at("size")) flops *= extent.get<double>();
    seconds += flops / flops_of(contraction.at("operands").get<std::string>());
  }
  return seconds;
}

// Contractions are null where they are not known: then the time is that of memory alone.
Json floor_report(const std::vector<Manifest>& manifests, const Json& contractions, const std::string& shape) {
  const LaunchSize size = parse_shape(shape);
  const std::int64_t bytes = bytes_moved(manifests, size);
  const double chunks = std::ceil(static_cast<double>(size.tokens) / manifests.front().chunk) *
                        static_cast<double>(size.batches) * static_cast<double>(size.heads);
  const double memory_ms = static_cast<double>(bytes) / sm_90a.bytes_per_second * 1e3;
  const std::string moved = fmt::format("every tensor moved once at {:.2f} TB/s", sm_90a.bytes_per_second / 1e12);
  if (contractions.is_null()) return {{"shape", shape}, {"bytes", bytes}, {"memory_ms", memory_ms}, {"why", moved}};
  const double arithmetic_ms = chunks * arithmetic_seconds(contractions) * 1e3;
  return {{"shape", shape},
          {"bytes", bytes},
          {"memory_ms", memory_ms},
          {"arithmetic_ms", arithmetic_ms},
          {"ms", std::max(memory_ms, arithmetic_ms)},
          {"bound_by", memory_ms >= arithmetic_ms ? "memory" : "arithmetic"},
          {"why", fmt::format("{}; contractions at {:.0f} TFLOP/s, with f32 operands at {:.0f}", moved,
                              sm_90a.tensor_flops / 1e12, sm_90a.fma_flops / 1e12)}};
}

// The options of a built-in recurrence, with the values that hold; null where it has none. Texts have settled theirs.
Json options_report(const Subject& subject) {
  Json rows;
  if (subject.from_file) return rows;
  for (const OptionInfo& option : options_of(Registry::known().find(subject.origin), subject.config))
    rows.push_back({{"option", option.name}, {"value", option.value}, {"values", option.values}});
  return rows;
}

int explain(const ExplainOptions& options) {
  const Subject subject = subject_from(options.subject, options.config);
  if (options.schedule) {
    if (options.json) user_error("--schedule prints text: leave --json out");
    print("{}", subject.nest());
    return exit_passed;
  }
  const auto [text, lowering_ms] = timed([&] { return subject.text(Stage::cuda); });
  const std::vector<Manifest> manifests = subject.manifests_in(text);
  const Manifest manifest = subject.joint(manifests);
  Json report{{"op", manifest.op}, {"config", manifest.config}};
  if (Json settled = options_report(subject); !settled.is_null()) report["options"] = settled;
  report.update(Json::parse(explain_json(subject.source, subject.config)));
  if (Json saved = saved_report(manifest); !saved.is_null()) report["saved_states"] = saved;
  if (Json kept = kept_report(manifest); !kept.is_null()) report["kept"] = kept;
  const auto [cubin, nvrtc_ms] = timed([&, &source = text] { return cubin_report(source, manifests); });
  report["cubin"] = cubin;
  report["compile"] = {{"to_cuda_ms", lowering_ms}, {"to_cubin_ms", nvrtc_ms}};
  report["floor"] = floor_report(manifests, report["contractions"], options.shape);
  print("{}\n", options.json ? report.dump() : readable(report));
  return exit_passed;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Shared memory, dtypes, occupancy, compile and floor times");
  const auto options = std::make_shared<ExplainOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shape", options->shape, "Batch, tokens, heads of the floor time (8,4096,64)")
      ->type_name("B,T,H");
  command->add_flag("--json", options->json, "One line of JSON");
  command->add_flag("--schedule", options->schedule, "The nest of roles and loops, with what is computed where");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return explain(*options); }; });
}

}  // namespace wkvc
