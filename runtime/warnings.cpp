#include "runtime/warnings.h"

#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace wkvc {
namespace {

struct Warnings {
  std::mutex mutex;
  std::function<void(std::string_view)> handler;
  std::set<std::string, std::less<>> told;

  // Empty when there is nobody to tell, or it was told before.
  std::function<void(std::string_view)> handler_for(std::string_view about) {
    const std::lock_guard lock(mutex);
    if (!handler || !told.emplace(about).second) return {};
    return handler;
  }
};

Warnings& warnings() {
  static auto* const all = new Warnings;  // never destroyed: threads may warn while the process ends
  return *all;
}

}  // namespace

std::function<void(std::string_view)> on_warning(std::function<void(std::string_view)> handler) {
  const std::lock_guard lock(warnings().mutex);
  return std::exchange(warnings().handler, std::move(handler));
}

void warn_once(std::string_view about, std::string_view text) noexcept {
  try {
    if (const auto handler = warnings().handler_for(about)) handler(text);
  } catch (...) {  // a warning is no reason to fail
  }
}

}  // namespace wkvc
