#include "jit/jit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/settings.h"
#include "autotune/task.h"
#include "dsl/registry.h"
#include "jit/fingerprint.h"
#include "runtime/disk_cache.h"
#include "runtime/once_map.h"

namespace wkvc {
namespace {

// Everything in a configuration that a text depends on.
std::string text_of(const Config& config) {
  return fmt::format(
      "head {}x{} io {} mma {} state {} chunk {} sram {} arch {} blocks {},{} segments {} pass {} save every {} saved "
      "{} gradients {}",
      config.key_dim, config.value_dim, config.io, config.mma, config.state, config.chunk, config.sram, config.arch,
      config.blocks, config.backward_blocks, config.segments, config.pass, config.save_every, config.saved,
      fmt::join(config.gradients, ","));
}

// The kernels' text: lowering takes a tenth of a second, reading what it gave before a millisecond.
std::string cuda_text(const Source& source, const Config& config) {
  CacheKey key({.step = "text", .op = "", .config = text_of(config), .arch = config.arch, .tool = "wkvc"});
  key.add("compiler", compiler_fingerprint());
  key.add("source", source.text);
  return DiskCache::shared().find_or_make(key, [&] { return lower_to(source, Stage::cuda, config); });
}

std::string key_of(std::string_view what, const std::string& text, const Config& config, PrepareOptions options) {
  return fmt::format("{}\n{} {},{},{}\n{}\n{}", what, options.target == Target::cuda ? "cuda" : "host",
                     options.size.batches, options.size.tokens, options.size.heads, text_of(config), text);
}

OnceMap<Operator>& operators() {
  static auto* const all = new OnceMap<Operator>;  // never destroyed: threads may still launch while the process ends
  return *all;
}

// A backward pass alone has nobody to save its states.
Config with_forward(Config config) {
  if (config.pass == "backward") config.pass = "both";
  return config;
}

std::shared_ptr<const Operator> loaded(const Source& source, Config config, PrepareOptions options) {
  if (options.target == Target::cuda) {
    config = settle(config, source, options.size, gpu_here(options.target, config.arch), shipped_lockfile()).config;
  }
  return std::make_shared<const Operator>(Program::load(cuda_text(source, config), options.target));
}

}  // namespace

std::shared_ptr<const Operator> prepare(const Source& source, const Config& config, PrepareOptions options) {
  const Config whole = with_forward(config);
  return operators().find_or_make(key_of("source", source.text, whole, options),
                                  [&] { return loaded(source, whole, options); });
}

std::shared_ptr<const Operator> prepare(const Definition& recurrence, const Config& config, PrepareOptions options) {
  return prepare(Source{Stage::rec, rec_text(recurrence, config)}, config, options);
}

std::shared_ptr<const Operator> prepare(std::string_view recurrence, const Config& config, PrepareOptions options) {
  // By its name, so that a second call builds no expressions.
  const Config whole = with_forward(config);
  const Definition& definition = Registry::known().find(recurrence);
  return operators().find_or_make(key_of("name", definition.name, whole, options),
                                  [&] { return prepare(definition, whole, options); });
}

}  // namespace wkvc
