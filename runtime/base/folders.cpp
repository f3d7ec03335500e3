#include "runtime/base/folders.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

namespace wkvc {
namespace {

namespace fs = std::filesystem;

// Absolute paths of relative ones, as they were when they were first asked for.
struct Resolved {
  std::mutex mutex;
  std::map<std::string, fs::path> paths;

  fs::path of(const std::string& relative) {
    const std::lock_guard lock(mutex);
    const auto [entry, added] = paths.try_emplace(relative);
    if (added) {
      std::error_code unknown;  // the process is in a folder that was removed
      entry->second = fs::absolute(relative, unknown);
      if (unknown) entry->second = relative;
    }
    return entry->second;
  }
};

Resolved& resolved() {
  static auto* const all = new Resolved;  // never destroyed: threads may ask while the process ends
  return *all;
}

}  // namespace

std::optional<fs::path> folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  const char* home = std::getenv("HOME");
  const bool of_home = text == "~" || text.starts_with("~/");
  if (of_home && home != nullptr && *home == '/') return fs::path(home) / text.substr(text == "~" ? 1 : 2);
  if (text.empty() || text.starts_with('/') || text.starts_with('~')) return fs::path(text);
  return resolved().of(std::string(text));
}

}  // namespace wkvc
