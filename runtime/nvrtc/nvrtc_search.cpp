#include "runtime/nvrtc/nvrtc_search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "runtime/base/dynamic_library.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

using Directories = std::vector<fs::path>;

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Directories entries_of(const fs::path& directory) {
  Directories entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

// Those of NVIDIA's wheels, which PyTorch's bring: nvidia/cu13/lib, nvidia/cuda_nvrtc/lib.
void add_wheels(Directories& directories, const fs::path& packages) {
  for (const fs::path& wheel : entries_of(packages / "nvidia")) directories.push_back(wheel / "lib");
}

// Those of a Python or conda environment, or of another prefix that has a Python.
void add_environment(Directories& directories, const fs::path& prefix) {
  directories.push_back(prefix / "lib");
  for (const fs::path& entry : entries_of(prefix / "lib")) {
    if (!entry.filename().string().starts_with("python")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) add_wheels(directories, entry / packages);
  }
}

// Directories beside a file: of the Python packages that it lies among, of the prefix that it is installed in, and of
// the clone that it was built in, CLONE/build/bin/wkvc.
void add_beside(Directories& directories, const fs::path& file) {
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "site-packages" || folder.filename() == "dist-packages") add_wheels(directories, folder);
  }
  if (file.empty()) return;
  const fs::path prefix = file.parent_path().parent_path();
  add_environment(directories, prefix);
  add_environment(directories, prefix.parent_path() / ".venv");
}

Directories directories_to_search() {
  Directories directories;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto home = environment(variable)) directories.push_back(fs::path(*home) / "lib64");
  }
  directories.emplace_back("/usr/local/cuda/lib64");
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto prefix = environment(variable)) add_environment(directories, *prefix);
  }
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (!error) add_environment(directories, here / ".venv");
  add_beside(directories, own_file());
  return directories;
}

}  // namespace

std::optional<std::string> chosen_nvrtc() { return environment("WKVC_NVRTC"); }

std::vector<std::string> nvrtc_candidates() {
  if (const auto chosen = chosen_nvrtc()) return {*chosen};
  const Directories directories = directories_to_search();
  std::vector<std::string> candidates;
  for (const char* name : nvrtc_names) {
    candidates.emplace_back(name);
    for (const fs::path& directory : directories) {
      std::error_code ignored;
      const std::string path = (directory / name).string();
      if (!fs::exists(path, ignored) || std::ranges::find(candidates, path) != candidates.end()) continue;
      candidates.push_back(path);
    }
  }
  return candidates;
}

}  // namespace wkvc
