#include "runtime/host/host_jit.h"

#include <sys/statvfs.h>

#include <memory>

#include "runtime/base/dynamic_library.h"
#include "runtime/base/reason.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/cache/once_map.h"
#include "runtime/error.h"
#include "runtime/host/host_compiler.h"
#include "runtime/manifest/kernel_names.h"

namespace wkvc {

struct HostKernel::Object {
  TemporaryDirectory directory;
  DynamicLibrary library;
};

namespace {

// Before seconds of compiling.
void expect_loadable_from(const std::filesystem::path& directory) {
  struct statvfs status{};
  if (::statvfs(directory.c_str(), &status) != 0 || (status.f_flag & ST_NOEXEC) == 0) return;
  user_error(
      "{} is on a file system that is mounted noexec, so that no kernel compiled there can be loaded: set TMPDIR to a "
      "folder on another one",
      directory.parent_path().string());
}

// Throws for an object that does not load. Only a function that no library has is the text's fault.
[[noreturn]] void fail_to_load(const std::string& why_not) {
  if (why_not.find("undefined symbol") != std::string::npos) {
    internal_error("the compiled kernel cannot be loaded: {}", why_not);
  }
  user_error(
      "the kernel that the host compiler made cannot be loaded into this process: {}. Free memory, set TMPDIR to "
      "another folder, or set CXX to a compiler whose libraries this process can load",
      why_not);
}

}  // namespace

HostKernel HostKernel::compile(const std::string& kernel_source, const std::string& symbol) {
  static OnceMap<Object> objects;
  HostKernel kernel;
  kernel.symbol_ = symbol;
  kernel.object_ = objects.find_or_make(host_compiler_key() + "\n" + kernel_source, [&] {
    auto object = std::make_shared<Object>();
    expect_loadable_from(object->directory.path());
    const std::filesystem::path file = compile_for_host(object->directory.path(), kernel_source);
    std::string why_not;
    object->library = DynamicLibrary::open(file.string(), &why_not);
    if (!object->library) fail_to_load(why_not);
    // A loaded object needs no file, and a process that is killed would leave the file.
    if (!wants_host_files()) object->directory.remove();
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
  if (result == host::kDone) return;
  if (result == host::kStarved) {
    user_error(
        "this machine has too little for kernel {} on the host target: {}. Each warp takes a stack (ulimit -s): {}",
        symbol_, launch.message, remedies::memory);
  }
  internal_error("kernel {} failed on the host target ({}): {}", symbol_, result, launch.message);
}

}  // namespace wkvc
