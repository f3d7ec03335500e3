#include "runtime/host/host_jit.h"

#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <vector>

#include "runtime/base/dynamic_library.h"
#include "runtime/base/embedded.h"
#include "runtime/base/files.h"
#include "runtime/base/process.h"
#include "runtime/cache/once_map.h"
#include "runtime/error.h"
#include "runtime/manifest/kernel_names.h"
#include "runtime/nvrtc/source_listing.h"

namespace wkvc {

// The directory outlives loading: debuggers and sanitizers read the object and the text when they report.
struct HostKernel::Object {
  TemporaryDirectory directory;
  DynamicLibrary library;
};

namespace {

using Words = std::vector<std::string>;

Words words_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::istringstream text(value != nullptr ? value : "");
  Words words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

bool starts(const std::string& program) {
  try {
    return run_process({program, "--version"}).succeeded;
  } catch (const UserError&) {
    return false;
  }
}

Words compiler() {
  if (Words named = words_of("CXX"); !named.empty()) return named;
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (starts(name)) return {name};
  }
  user_error("the host target needs a C++ compiler, and none of c++, g++, clang++ runs: install g++, or set CXX");
}

// Writes `text` as `name` in `directory`, which has to be there: should it be removed (leave_nothing_behind), it stays
// so.
void write_text(const std::filesystem::path& directory, const std::filesystem::path& name, std::string_view text) {
  std::error_code ignored;  // writing says why, if one cannot be made
  std::filesystem::path folder = directory;
  for (const std::filesystem::path& part : name.parent_path()) {
    std::filesystem::create_directory(folder /= part, ignored);
  }
  write_file_atomically(directory / name, std::array{text});
}

Words command_for(const std::filesystem::path& directory) {
  Words command = compiler();
  for (const char* flag : {"-O1", "-std=c++20", "-shared", "-fPIC", "-pthread"}) command.emplace_back(flag);
  for (const std::string& flag : words_of("WKVC_HOST_CXXFLAGS")) command.push_back(flag);
  command.push_back("-I" + directory.string());
  command.insert(command.end(), {"-o", (directory / "kernel.so").string(), (directory / "kernel.cpp").string()});
  return command;
}

// That it is the kernel which does not compile.
void expect_compiler(const std::filesystem::path& directory) {
  write_text(directory, "kernel.cpp", "");
  const Words command = command_for(directory);
  const ProcessResult result = run_process(command);
  if (result.succeeded) return;
  user_error(
      "the host compiler does not compile an empty file: {}\n{}\nSet CXX to a compiler of C++20, and "
      "WKVC_HOST_CXXFLAGS to flags that the compiler takes",
      fmt::join(command, " "), result.output);
}

void build_object(const std::filesystem::path& directory, const std::string& source) {
  for (const EmbeddedHeader& header : embedded_headers()) write_text(directory, header.name, header.text);
  write_text(directory, "kernel.cpp", source);
  const Words command = command_for(directory);
  const ProcessResult result = run_process(command);
  if (!result.succeeded) {
    expect_compiler(directory);
    internal_error("the host compiler does not compile the kernel: {}\n{}\nkernel.cpp:\n{}", fmt::join(command, " "),
                   result.output, numbered(source));
  }
}

std::string key_of(const std::string& source) {
  return fmt::format("{}\n{}\n{}", fmt::join(words_of("CXX"), " "), fmt::join(words_of("WKVC_HOST_CXXFLAGS"), " "),
                     source);
}

}  // namespace

HostKernel HostKernel::compile(const std::string& kernel_source, const std::string& symbol) {
  static OnceMap<Object> objects;
  HostKernel kernel;
  kernel.symbol_ = symbol;
  kernel.object_ = objects.find_or_make(key_of(kernel_source), [&] {
    auto object = std::make_shared<Object>();
    build_object(object->directory.path(), kernel_source);
    std::string why_not;
    object->library = DynamicLibrary::open((object->directory.path() / "kernel.so").string(), &why_not);
    if (!object->library) internal_error("the compiled kernel cannot be loaded: {}", why_not);
    return object;
  });
  try {
    kernel.object_->library.find(symbol.c_str(), kernel.entry_);
  } catch (const MissingSymbol&) {
    refuse_kernel_name(symbol);
  }
  return kernel;
}

void HostKernel::run(const void* kernel_args, std::int64_t shared_bytes, std::int64_t blocks,
                     double stall_seconds) const {
  host::Launch launch{shared_bytes, stall_seconds};
  launch.blocks = blocks;
  const int result = entry_(kernel_args, &launch);
  if (result == 0) return;
  internal_error("kernel {} failed on the host target ({}): {}", symbol_, result, launch.message);
}

}  // namespace wkvc
