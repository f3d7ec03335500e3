// wkvc precompile: kernels into a folder from which calls take them, without NVRTC and without waiting.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "checking/output.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "runtime/base/plural.h"
#include "runtime/base/side_by_side.h"
#include "runtime/cache/cubin_cache.h"
#include "runtime/cache/once_map.h"
#include "runtime/cache/precompiled.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"
#include "tools/commands/lockfile_option.h"

namespace wkvc {
namespace {

struct PrecompileOptions {
  SubjectOptions subject;
  ConfigOptions config;
  LockfileOption lockfile;
  std::vector<std::string> shapes{"8,4096,64"}, passes{"forward"};
  std::string sequences = "1";
  std::string directory;
};

void check_precompile_options(const PrecompileOptions& options) {
  if (const auto& pass = options.config["--pass"])
    user_error("--pass {}: precompile takes several, --passes forward,both", *pass);
  for (const std::string& pass : options.passes)
    if (pass != "forward" && pass != "both") user_error("--passes {}: expected forward, both", pass);
  if (!std::filesystem::is_directory(options.directory))
    user_error("--output '{}': there is no such folder; make it first", options.directory);
}

// Returns the GPUs that the lockfile has entries of; without entries the one that the target was measured on.
std::vector<Gpu> gpus_of(const std::optional<Lockfile>& lockfile, const std::string& arch) {
  std::vector<Gpu> gpus;
  if (lockfile)
    for (const LockEntry& entry : lockfile->entries())
      if (entry.gpu.arch == arch && std::ranges::find(gpus, entry.gpu) == gpus.end()) gpus.push_back(entry.gpu);
  if (gpus.empty()) gpus.push_back(gpu_without_driver(arch));
  return gpus;
}

std::vector<LaunchSize> sizes_of(const PrecompileOptions& options) {
  std::vector<LaunchSize> sizes;
  for (const std::string& shape : options.shapes) sizes.push_back(parse_shape(shape, 1, "--shapes"));
  return sizes;
}

// Calls of one size and pass on one GPU.
struct Call {
  const Subject* subject;
  LaunchSize size;
  Gpu gpu;
};

std::vector<Call> calls_of(const std::vector<Subject>& subjects, const std::vector<LaunchSize>& sizes,
                           const std::optional<Lockfile>& lockfile) {
  std::vector<Call> calls;
  for (const Subject& subject : subjects)
    for (const LaunchSize& size : sizes)
      for (const Gpu& gpu : gpus_of(lockfile, subject.config.arch)) calls.push_back({&subject, size, gpu});
  return calls;
}

// Returns the subjects with the configurations that calls take, each once. Calls of many sizes ask the same of the
// compiler: each question is answered once.
std::vector<Subject> settled(const std::vector<Call>& calls, const std::optional<Lockfile>& lockfile,
                             std::int64_t sequences) {
  OnceMap<bool> answers;
  const Compiles compiles = [&](const Source& source, const Config& config) {
    return *answers.find_or_make(config_key(config),
                                 [&] { return std::make_shared<const bool>(can_be_lowered(source, config)); });
  };
  std::vector<Config> configs(calls.size());
  side_by_side(calls.size(), [&](std::size_t i) {
    const auto& [subject, size, gpu] = calls[i];
    configs[i] = lockfile ? settle(subject->config, subject->source, size, gpu, *lockfile, compiles, sequences).config
                          : subject->config;
  });
  std::map<std::string, Subject> by_config;
  for (std::size_t i = 0; i < calls.size(); ++i)
    by_config.try_emplace(config_key(configs[i]), *calls[i].subject).first->second.config = configs[i];
  const auto subjects = std::views::values(by_config);
  return {subjects.begin(), subjects.end()};
}

// The texts that calls of these sizes and passes take, each once.
std::set<std::string> texts_of(const PrecompileOptions& options, std::int64_t sequences) {
  const std::optional<Lockfile> lockfile = options.lockfile.lockfile();
  std::vector<Subject> of_passes;
  for (const std::string& pass : options.passes)
    of_passes.push_back(subject_from(options.subject, options.config.of_pass(pass)));
  const std::vector<Subject> subjects = settled(calls_of(of_passes, sizes_of(options), lockfile), lockfile, sequences);
  std::vector<std::string> texts(subjects.size());
  side_by_side(subjects.size(), [&](std::size_t i) { texts[i] = subjects[i].program_text(); });
  return {texts.begin(), texts.end()};
}

// One kernel of a text in one variant.
struct Item {
  const std::string* text;
  Manifest manifest;
  NvrtcOptions variant;
};

std::vector<Item> items_of(const std::set<std::string>& texts, bool sequences) {
  std::vector<Item> items;
  for (const std::string& text : texts) {
    const std::vector<Manifest> manifests = manifests_from(text);
    for (const Manifest& manifest : manifests) {
      items.push_back({&text, manifest, usual_options(manifests, manifest)});
      if (sequences) items.push_back({&text, manifest, variant_options(manifest, /*aligned=*/true, sequences)});
    }
  }
  return items;
}

void compile_all(const std::vector<Item>& items, const PrecompiledKernels& folder) {
  const std::string nvrtc = nvrtc_version();
  side_by_side(items.size(), [&](std::size_t i) {
    const auto& [text, manifest, variant] = items[i];
    folder.store(*text, manifest, variant, compiled_cubin(*text, manifest, variant), nvrtc);
  });
}

int precompile(const PrecompileOptions& options) {
  expect_folder(options.directory);
  const std::int64_t sequences = parse_sequence_count(options.sequences);
  check_precompile_options(options);
  const PrecompiledKernels folder(options.directory);
  const std::set<std::string> texts = texts_of(options, sequences);
  const std::vector<Item> items = items_of(texts, sequences > 1 || options.config["--chunk"] == "1");
  compile_all(items, folder);
  print("{} of {} in {}\n", plural(static_cast<std::int64_t>(items.size()), "kernel"),
        plural(static_cast<std::int64_t>(texts.size()), "text"), options.directory);
  return exit_passed;
}

}  // namespace

void add_precompile(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("precompile", "Kernels into a folder, from which calls take them without NVRTC");
  const auto options = std::make_shared<PrecompileOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shapes", options->shapes, "Sizes of the calls, several or one (8,4096,64)")
      ->type_name("B,T,H");
  command->add_option("--passes", options->passes, "forward, and both for training (forward)")->delimiter(',');
  command
      ->add_option("--sequences", options->sequences,
                   "So many lie one behind the other in a batch; from 2 on kernels take maps of sequences, too (1)")
      ->type_name("N");
  command->add_option("-o,--output", options->directory, "The folder, which $WKVC_KERNELS names for calls")
      ->type_name("DIR")
      ->required();
  options->lockfile.add_to(*command);
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return precompile(*options); }; });
}

}  // namespace wkvc
