#include "runtime/cache/cache_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/base/folders.h"
#include "runtime/warnings.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

// Turns the cache off, and says why.
void turn_off(CacheSettings& settings, std::string_view about, const std::string& why) {
  settings.directory.clear();
  settings.why_off = why;
  warn_once(about, fmt::format("what is compiled stays in memory only: {}", why));
}

// The directory in an environment variable, by the rules of XDG: a relative one counts for nothing.
fs::path absolute_from(const char* variable) {
  const char* value = std::getenv(variable);
  const fs::path path = value != nullptr ? value : "";
  return path.is_absolute() ? path : fs::path();
}

void find_directory(CacheSettings& settings) {
  if (const auto named = folder_from("WKVC_CACHE_DIR")) {
    settings.directory = *named;
    if (named->empty()) {
      settings.why_off = "WKVC_CACHE_DIR is empty";
    } else if (named->is_relative()) {
      turn_off(settings, "WKVC_CACHE_DIR",
               fmt::format("WKVC_CACHE_DIR is {}, expected an absolute folder, or one in ~/, the home of this user",
                           named->string()));
    }
  } else if (const fs::path caches = absolute_from("XDG_CACHE_HOME"); !caches.empty()) {
    settings.directory = caches / "wkvc";
  } else if (const fs::path home = absolute_from("HOME"); !home.empty()) {
    settings.directory = home / ".cache" / "wkvc";
  } else {
    turn_off(settings, "HOME", "none of WKVC_CACHE_DIR, XDG_CACHE_HOME and HOME names a directory");
  }
}

void find_bound(CacheSettings& settings) {
  const char* value = std::getenv("WKVC_CACHE_BYTES");
  if (value == nullptr) return;
  const std::string_view text = value;
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error == std::errc{} && end == text.data() + text.size() && bytes >= 0) {
    settings.max_bytes = bytes;
    if (bytes == 0) settings = {.directory = {}, .why_off = "WKVC_CACHE_BYTES is 0", .max_bytes = 0};
  } else {
    warn_once("WKVC_CACHE_BYTES", fmt::format("WKVC_CACHE_BYTES is \"{}\", expected a whole number of bytes; the cache "
                                              "may grow to {} bytes",
                                              text, settings.max_bytes));
  }
}

}  // namespace

CacheSettings cache_settings_from_environment() {
  CacheSettings settings;
  find_directory(settings);
  find_bound(settings);
  return settings;
}

}  // namespace wkvc
