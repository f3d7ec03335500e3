// wkvc pack: kernels as C++ source, for a program that is built with them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "checking/output.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "codegen/rec/Names.h"
#include "runtime/base/files.h"
#include "runtime/base/side_by_side.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"
#include "tools/commands/lockfile_option.h"
#include "tools/commands/packed_source.h"

namespace wkvc {
namespace {

struct PackOptions {
  std::vector<std::string> ops, heads{"64"}, passes{"forward"};
  ConfigOptions config;
  LockfileOption lockfile;
  std::string shape = "8,4096,64", name, directory = ".";
};

// What one class holds.
struct PackItem {
  std::string name, text, arch;
};

// "rwkv7_bf16_64", "rwkv7_f32_64x128_training".
std::string class_name(const Manifest& manifest, std::string_view pass) {
  const auto output = std::ranges::find(manifest.tensors, Role::output, &TensorSpec::role);
  std::string head = std::to_string(manifest.key_dim);
  if (manifest.head_values() != manifest.key_dim) head += fmt::format("x{}", manifest.head_values());
  return fmt::format("{}_{}_{}{}", manifest.op, name_of(output->dtype), head, pass == "backward" ? "_training" : "");
}

PackItem item_of(const PackOptions& options, const std::string& op, const std::string& head, const std::string& pass) {
  ConfigOptions config = options.config.of_pass(pass == "backward" ? "both" : "forward");
  config["--head"] = head;
  Subject subject = subject_from({.op = op, .source = {}}, config);
  options.lockfile.settle(subject, parse_shape(options.shape), gpu_without_driver(subject.config.arch));
  PackItem item{"", subject.program_text(), ""};
  const Manifest manifest = subject.joint(subject.manifests_in(item.text));
  item.name = class_name(manifest, pass);
  item.arch = manifest.arch;
  return item;
}

void check_pack_options(const PackOptions& options) {
  if (const auto fault = rec::name_fault(options.name)) user_error("--name: {}", *fault);
  if (const auto& head = options.config["--head"]) user_error("--head {0}: pack takes several, --heads {0}", *head);
  if (const auto& pass = options.config["--pass"]) {
    user_error("--pass {}: pack takes several, --passes forward,backward", *pass);
  }
  for (const std::string& head : options.heads) {
    Config config;
    set_option(heads_option(), head, config);
  }
  for (const std::string& pass : options.passes) {
    if (pass != "forward" && pass != "backward") user_error("--passes {}: expected forward, backward", pass);
  }
}

std::vector<PackItem> all_items(const PackOptions& options) {
  std::vector<PackItem> all;
  for (const std::string& op : options.ops) {
    for (const std::string& head : options.heads) {
      for (const std::string& pass : options.passes) {
        all.push_back(item_of(options, op, head, pass));
        if (std::ranges::count(all, all.back().name, &PackItem::name) == 1) continue;
        user_error("{} is asked for twice: name each operator, head and pass once", all.back().name);
      }
    }
  }
  return all;
}

// Each item twice, for tensors at multiples of 16 bytes and for all others.
std::vector<CompiledProgram> compile_all(const std::vector<PackItem>& all) {
  std::vector<CubinResult> compiled(2 * all.size());
  side_by_side(compiled.size(), [&](std::size_t i) {
    const PackItem& item = all[i / 2];
    compiled[i] = compile_cubin(item.text, item.arch, {.aligned = i % 2 == 0});
  });
  std::vector<CompiledProgram> programs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    programs.push_back({all[i].name, all[i].text, std::move(compiled[2 * i]), std::move(compiled[2 * i + 1].cubin)});
  }
  return programs;
}

void write(const std::filesystem::path& directory, const std::string& name,
           const std::vector<CompiledProgram>& programs) {
  const std::string header = packed_header(name, programs), source = packed_source(name, programs);
  std::vector<TextFile> files{{directory / (name + ".h"), header}, {directory / (name + ".cpp"), source}};
  for (const CompiledProgram& program : programs) files.push_back({directory / (program.name + ".cu"), program.text});
  write_files_atomically(files);
}

int pack(const PackOptions& options) {
  check_pack_options(options);
  expect_folder(options.directory);
  const std::filesystem::path directory = options.directory;
  if (!std::filesystem::is_directory(directory))
    user_error("--output '{}': there is no such folder, which {}.h and {}.cpp are to be written to; make it first",
               options.directory, options.name, options.name);
  expect_writable(directory / (options.name + ".h"));
  const std::vector<CompiledProgram> programs = compile_all(all_items(options));
  write(directory, options.name, programs);
  for (const CompiledProgram& program : programs) {
    print("{}::{}: {} bytes of code\n", options.name, program.name,
          program.aligned.cubin.size() + program.general.size());
  }
  return exit_passed;
}

}  // namespace

void add_pack(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("pack", "Compiled kernels as C++ source: NAME.h and NAME.cpp");
  const auto options = std::make_shared<PackOptions>();
  command->add_option("op", options->ops, "Operators, see wkvc list")->type_name("OP")->required();
  command->add_option("--name", options->name, "Of the files and the namespace")->required();
  command->add_option("--heads", options->heads, "Each K or K,V (64)")->type_name("K[,V]");
  command->add_option("--passes", options->passes, "forward, and backward for training (forward)")->delimiter(',');
  command->add_option("-o,--output", options->directory, "The folder to write to (this one)")->type_name("DIR");
  command->add_option("--shape", options->shape, "That the kernels are mostly used at (8,4096,64)")->type_name("B,T,H");
  options->lockfile.add_to(*command);
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return pack(*options); }; });
}

}  // namespace wkvc
