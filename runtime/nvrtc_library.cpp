#include "runtime/nvrtc_library.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "runtime/error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

constexpr std::array names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void add_names(std::vector<std::string>& candidates, const fs::path& directory) {
  std::error_code ignored;
  for (const char* name : names) {
    if (fs::exists(directory / name, ignored)) candidates.push_back((directory / name).string());
  }
}

// <venv>/lib/python3.x/site-packages/nvidia/<cu13 or cuda_nvrtc>/lib
void add_wheels(std::vector<std::string>& candidates, const fs::path& venv) {
  for (const fs::path& python : entries_of(venv / "lib")) {
    for (const fs::path& wheel : entries_of(python / "site-packages" / "nvidia")) {
      add_names(candidates, wheel / "lib");
    }
  }
}

// A library that is loaded already is found by its name alone. The PyPI wheels need that.
DynamicLibrary open_builtins(const fs::path& beside) {
  for (const fs::path& entry : entries_of(beside.parent_path())) {
    std::string ignored;
    if (!entry.filename().string().starts_with("libnvrtc-builtins.so")) continue;
    if (DynamicLibrary library = DynamicLibrary::open(entry.string(), &ignored)) return library;
  }
  return {};
}

void open_library(NvrtcLibrary& nvrtc) {
  std::string tried;
  for (const std::string& path : nvrtc_candidates()) {
    std::string why_not;
    if (path.find('/') != std::string::npos) nvrtc.builtins = open_builtins(path);
    nvrtc.library = DynamicLibrary::open(path, &why_not);
    if (nvrtc.library) return;
    tried += fmt::format("\n  {}", why_not);
  }
  user_error(
      "NVRTC, which compiles kernels for the GPU, was not found. Install the CUDA toolkit (12 or 13), or "
      "`pip install nvidia-cuda-nvrtc` into .venv, or set WKVC_NVRTC to the path of libnvrtc.so. Tried:{}",
      tried);
}

NvrtcLibrary load() {
  NvrtcLibrary nvrtc;
  open_library(nvrtc);
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
  return nvrtc;
}

}  // namespace

void NvrtcLibrary::check(Result result, const char* what) const {
  if (result != 0) internal_error("NVRTC cannot {}: {}", what, error_text(result));
}

std::vector<std::string> nvrtc_candidates() {
  if (const char* path = environment("WKVC_NVRTC")) return {path};
  std::vector<std::string> found(names.begin(), names.end());
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = environment(variable)) add_names(found, fs::path(home) / "lib64");
  }
  add_names(found, "/usr/local/cuda/lib64");
  if (const char* venv = environment("VIRTUAL_ENV")) add_wheels(found, venv);
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (!error) add_wheels(found, here / ".venv");
  return found;
}

const NvrtcLibrary& nvrtc_library() {
  // Never closed: objects that outlive this function's statics may still call into it while the process ends.
  static const auto* library = new NvrtcLibrary(load());
  return *library;
}

}  // namespace wkvc
