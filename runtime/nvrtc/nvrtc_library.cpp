#include "runtime/nvrtc/nvrtc_library.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/error.h"
#include "runtime/nvrtc/nvrtc_search.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view needed = "the libnvrtc of CUDA 12 or 13 that compiles for sm_90a";

void find_functions(NvrtcLibrary& nvrtc) {
  const DynamicLibrary& library = nvrtc.library;
  library.find("nvrtcVersion", nvrtc.version);
  library.find("nvrtcGetNumSupportedArchs", nvrtc.supported_arch_count);
  library.find("nvrtcGetSupportedArchs", nvrtc.supported_archs);
  library.find("nvrtcCreateProgram", nvrtc.create);
  library.find("nvrtcDestroyProgram", nvrtc.destroy);
  library.find("nvrtcCompileProgram", nvrtc.compile);
  library.find("nvrtcGetProgramLogSize", nvrtc.log_size);
  library.find("nvrtcGetProgramLog", nvrtc.log);
  library.find("nvrtcGetCUBINSize", nvrtc.cubin_size);
  library.find("nvrtcGetCUBIN", nvrtc.cubin);
  library.find("nvrtcGetPTXSize", nvrtc.ptx_size);
  library.find("nvrtcGetPTX", nvrtc.ptx);
  library.find("nvrtcGetErrorString", nvrtc.error_text);
}

void expect_suitable(const NvrtcLibrary& nvrtc) {
  const std::string release = nvrtc.release(), major = release.substr(0, release.find('.'));
  if (major != "12" && major != "13") user_error("{} is of CUDA {}", nvrtc.library.file(), release);
  const std::vector<int> known = nvrtc.architectures();
  if (std::ranges::find(known, 90) != known.end()) return;
  user_error("{}, of CUDA {}, compiles for sm_{} only", nvrtc.library.file(), release, fmt::join(known, ", sm_"));
}

// A library that is loaded already is found by its name alone. The PyPI wheels need that: their NVRTC does not look for
// its built-in functions beside itself.
DynamicLibrary open_builtins(const NvrtcLibrary& nvrtc) {
  const std::string name = "libnvrtc-builtins.so." + nvrtc.release(), file = nvrtc.library.file();
  std::error_code ignored;
  std::string why_not;
  for (const fs::path& beside : {fs::path(file), fs::canonical(file, ignored)}) {
    const std::string path = (beside.parent_path() / name).string();
    if (DynamicLibrary library = DynamicLibrary::open(path, &why_not)) return library;
  }
  if (DynamicLibrary library = DynamicLibrary::open(name, &why_not)) return library;
  user_error("{} needs {}, which is neither beside it nor where the loader looks", file, name);
}

// Throws an exception with the reason when the candidate is not what is needed.
NvrtcLibrary opened(const std::string& candidate) {
  NvrtcLibrary nvrtc;
  std::string why_not;
  nvrtc.library = DynamicLibrary::open(candidate, &why_not);
  if (!nvrtc.library) user_error("{}", why_not);
  find_functions(nvrtc);
  expect_suitable(nvrtc);
  nvrtc.builtins = open_builtins(nvrtc);
  return nvrtc;
}

[[noreturn]] void fail(const std::string& reasons) {
  if (const auto chosen = chosen_nvrtc()) {
    user_error(
        "WKVC_NVRTC is {}, but wkvc needs {}:{}\nSet WKVC_NVRTC to the path of such a library, or unset it, and wkvc "
        "looks for one",
        *chosen, needed, reasons);
  }
  user_error(
      "NVRTC, which compiles kernels for the GPU, was not found: wkvc needs {}. Install the CUDA toolkit (12 or 13), "
      "or `pip install nvidia-cuda-nvrtc` into .venv, or set WKVC_NVRTC to the path of libnvrtc.so. Tried:{}",
      needed, reasons);
}

NvrtcLibrary load() {
  std::string reasons;
  for (const std::string& candidate : nvrtc_candidates()) {
    try {
      return opened(candidate);
    } catch (const std::runtime_error& error) {
      reasons += fmt::format("\n  {}", error.what());
    }
  }
  fail(reasons);
}

}  // namespace

void NvrtcLibrary::check(Result result, const char* what) const {
  if (result != 0) internal_error("NVRTC ({}) cannot {}: {}", library.file(), what, error_text(result));
}

std::string NvrtcLibrary::release() const {
  int major = 0, minor = 0;
  check(version(&major, &minor), "tell its version");
  return fmt::format("{}.{}", major, minor);
}

std::vector<int> NvrtcLibrary::architectures() const {
  int count = 0;
  check(supported_arch_count(&count), "count its architectures");
  std::vector<int> known(static_cast<std::size_t>(count));
  check(supported_archs(known.data()), "list its architectures");
  return known;
}

const NvrtcLibrary& nvrtc_library() {
  // Never closed: objects that outlive this function's statics may still call into it while the process ends.
  static const auto* library = new NvrtcLibrary(load());
  return *library;
}

}  // namespace wkvc
