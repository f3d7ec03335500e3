#include "jit/jit.h"

#include <fmt/format.h>

#include "autotune/lockfile/settings.h"
#include "autotune/search/task.h"
#include "checking/gpu.h"
#include "codegen/config/config.h"
#include "dsl/registry.h"
#include "jit/fingerprint.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/cache/once_map.h"
#include "runtime/cuda/driver.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// The kernels' text: lowering takes a tenth of a second, reading what it gave before a millisecond.
std::string cuda_text(const Source& source, const Config& config) {
  CacheKey key({.step = "text", .op = "", .config = config_key(config), .arch = config.arch, .tool = "wkvc"});
  key.add("compiler", compiler_fingerprint());
  key.add("source", source.text);
  return DiskCache::shared().find_or_make(key, [&] { return lower_to(source, Stage::cuda, config); });
}

// Says what `can_be_lowered` says, and keeps the answer.
bool compiles(const Source& source, const Config& config) {
  CacheKey key({.step = "compiles", .op = "", .config = config_key(config), .arch = config.arch, .tool = "wkvc"});
  key.add("compiler", compiler_fingerprint());
  key.add("source", source.text);
  return DiskCache::shared().find_or_make(key, [&] { return can_be_lowered(source, config) ? "yes" : "no"; }) == "yes";
}

// Kernels are loaded on one GPU: each has its own.
std::string place_of(Target target) {
  return target == Target::cuda ? fmt::format("cuda {}", Device::current().ordinal()) : "host";
}

std::string key_of(std::string_view what, const std::string& text, const Config& config, PrepareOptions options) {
  return fmt::format("{}\n{} {},{},{},{}\n{}\n{}", what, place_of(options.target), options.size.batches,
                     options.size.tokens, options.size.heads, options.sequences, config_key(config), text);
}

OnceMap<Operator>& operators() {
  static auto* const all = new OnceMap<Operator>;  // never destroyed: threads may still launch while the process ends
  return *all;
}

// What a text holds is not the configuration's to choose.
void expect_unsettled(const Source& source, const Config& config) {
  const std::vector<std::string> settled = settled_options(source, config);
  if (!settled.empty()) user_error("{}", settled_message(source.stage, settled));
}

// A text of a user's that does not compile is the user's to mend.
Program program_of(const Source& source, const Config& config, Target target) {
  try {
    return Program::load(cuda_text(source, config), target);
  } catch (const InternalError& error) {
    if (source.stage != Stage::cuda) throw;
    user_error("{}", error.what());
  }
}

void expect_pass(const Operator& op, const Config& config) {
  if (config.pass == "forward" || op.has(Direction::backward)) return;
  user_error("--pass {}: the text has no backward pass; start from one of the rec or chunk stage", config.pass);
}

// Compiling takes seconds, and the driver's words for a GPU of another kind do not say which GPUs are expected.
void expect_gpu_of_kernels() {
  const std::string why_not = why_unsuitable(Device::current().properties());
  if (!why_not.empty()) user_error("{}. The host target runs anywhere", why_not);
}

std::shared_ptr<const Operator> loaded(const Source& source, Config config, PrepareOptions options) {
  if (options.target == Target::cuda) {
    expect_gpu_of_kernels();
    const Gpu gpu = gpu_here(options.target, config.arch);
    config = settle(config, source, options.size, gpu, shipped_lockfile(), compiles, options.sequences).config;
  }
  auto op = std::make_shared<const Operator>(program_of(source, config, options.target));
  expect_pass(*op, config);
  return op;
}

std::shared_ptr<const Operator> find_or_load(const Source& source, const Config& config, PrepareOptions options) {
  check_config(config);
  const Config whole = with_forward(config);
  return operators().find_or_make(key_of("source", source.text, whole, options),
                                  [&] { return loaded(source, whole, options); });
}

}  // namespace

std::shared_ptr<const Operator> prepare(const Source& source, const Config& config, PrepareOptions options) {
  expect_unsettled(source, config);
  return find_or_load(source, config, options);
}

std::shared_ptr<const Operator> prepare(const Definition& recurrence, const Config& config, PrepareOptions options) {
  return find_or_load(rec_source(recurrence, config), config, options);
}

std::shared_ptr<const Operator> prepare(std::string_view recurrence, const Config& config, PrepareOptions options) {
  check_config(config);
  // By its name, so that a second call builds no expressions.
  const Config whole = with_forward(config);
  const Definition& definition = Registry::known().find(recurrence);
  return operators().find_or_make(key_of("name", definition.name, whole, options),
                                  [&] { return prepare(definition, whole, options); });
}

}  // namespace wkvc
