#include "runtime/host/host_compiler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/base/embedded.h"
#include "runtime/base/files.h"
#include "runtime/base/machine_fault.h"
#include "runtime/base/process.h"
#include "runtime/error.h"
#include "runtime/nvrtc/source_listing.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* flags_variable = "WKVC_HOST_CXXFLAGS";

Words words_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::istringstream text(value != nullptr ? value : "");
  Words words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

// Also where the machine ends or refuses it: then compiling says so.
bool runs_here(const std::string& program) {
  try {
    const ProcessResult result = run_process({program, "--version"});
    return result.succeeded || result.unknown || result.signal != 0;
  } catch (const NotStarted& fault) {
    return !fault.is_missing();
  }
}

Words compiler() {
  if (Words named = words_of("CXX"); !named.empty()) return named;
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (runs_here(name)) return {name};
  }
  user_error("the host target needs a C++ compiler, and none of c++, g++, clang++ runs: install g++, or set CXX");
}

// Writes `text` as `name` in `directory`, which has to be there: should it be removed (leave_nothing_behind), it stays
// so.
void write_text(const fs::path& directory, const fs::path& name, std::string_view text) {
  std::error_code ignored;  // writing says why, if one cannot be made
  fs::path folder = directory;
  for (const fs::path& part : name.parent_path()) fs::create_directory(folder /= part, ignored);
  write_file_atomically(directory / name, std::array{text});
}

fs::path object_in(const fs::path& directory) { return directory / "kernel.so"; }

Words command_for(const fs::path& directory) {
  Words command = compiler();
  for (const char* flag : {"-O1", "-std=c++20", "-shared", "-fPIC", "-pthread"}) command.emplace_back(flag);
  for (const std::string& flag : words_of(flags_variable)) command.push_back(flag);
  command.push_back("-I" + directory.string());
  command.insert(command.end(), {"-o", object_in(directory).string(), (directory / "kernel.cpp").string()});
  return command;
}

struct Attempt {
  Words command;
  bool succeeded;
  std::string output;
};

// Throws UserError where the machine is at fault. A compiler leaves no object where it fails, which counts where nobody
// knows how it ended.
Attempt attempt(const fs::path& directory, std::string_view source) {
  write_text(directory, "kernel.cpp", source);
  const Words command = command_for(directory);
  const ProcessResult result = run_process(command);
  std::error_code ignored;
  const bool succeeded = result.succeeded || (result.unknown && fs::exists(object_in(directory), ignored));
  if (!succeeded) expect_no_machine_fault(result, directory);
  return {command, succeeded, result.output};
}

// Throws UserError where not even an empty file compiles.
void expect_compiler(const fs::path& directory) {
  const Attempt empty = attempt(directory, "");
  if (empty.succeeded) return;
  user_error(
      "the host compiler does not compile an empty file: {}\n{}\nSet CXX to a compiler of C++20, and {} to flags that "
      "the compiler takes",
      fmt::join(empty.command, " "), empty.output, flags_variable);
}

}  // namespace

std::string host_compiler_key() {
  return fmt::format("{}\n{}", fmt::join(words_of("CXX"), " "), fmt::join(words_of(flags_variable), " "));
}

bool wants_host_files() {
  return std::ranges::any_of(words_of(flags_variable), [](std::string_view flag) {
    return (flag.starts_with("-g") && flag != "-g0") || flag.starts_with("-fsanitize=");
  });
}

fs::path compile_for_host(const fs::path& directory, const std::string& source) {
  for (const EmbeddedHeader& header : embedded_headers()) write_text(directory, header.name, header.text);
  const Attempt whole = attempt(directory, source);
  if (whole.succeeded) return object_in(directory);
  expect_compiler(directory);
  internal_error("the host compiler does not compile the kernel: {}\n{}\nkernel.cpp:\n{}",
                 fmt::join(whole.command, " "), whole.output, numbered(source));
}

}  // namespace wkvc
