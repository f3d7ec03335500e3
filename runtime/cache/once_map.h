// Values that are made once for each key, however many threads ask.
#pragma once

#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace wkvc {

template <class Value>
class OnceMap {
 public:
  using Shared = std::shared_ptr<const Value>;

  // The value of `key`, which `make` gives (as Shared) unless it was made before; it stays as long as the map. Who asks
  // for a key that is being made waits for it. What `make` throws, all of these throw; the next to ask makes it again.
  // `make` must not ask for the same key.
  template <class Make>
  Shared find_or_make(const std::string& key, const Make& make) {
    std::promise<Shared> promise;
    if (const auto being_made = find_or_add(key, promise)) return being_made->get();
    try {
      Shared value = make();
      promise.set_value(value);
      return value;
    } catch (...) {
      forget(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  using Future = std::shared_future<Shared>;

  // A copy of what is there, so that a thread that forgets it does not disturb the ones that wait; empty when `promise`
  // is what the key has got now.
  std::optional<Future> find_or_add(const std::string& key, std::promise<Shared>& promise) {
    const std::lock_guard lock(mutex_);
    const auto [entry, added] = values_.try_emplace(key);
    if (!added) return entry->second;
    entry->second = promise.get_future().share();
    return std::nullopt;
  }
  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    values_.erase(key);
  }

  std::mutex mutex_;
  std::map<std::string, Future> values_;
};

}  // namespace wkvc
