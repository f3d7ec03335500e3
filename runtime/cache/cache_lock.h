// Keeps several processes from making the same entry at once. Internal to the runtime.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/base/descriptor.h"
#include "runtime/cache/cache_directory.h"
#include "runtime/cache/cache_key.h"

namespace wkvc {

// A lock of one byte of the directory's file `lock`, at a place that follows from the entry's id. It ends with its
// owner and with the process, however that ends. Threads exclude each other, too.
class CacheLock {
 public:
  // Waits for at most `patience` for whoever holds it. Empty when that was in vain or locking is not possible here: it
  // saves work, and nothing else depends on it.
  static std::optional<CacheLock> take(const CacheDirectory& directory, const EntryId& id,
                                       std::chrono::milliseconds patience);
  ~CacheLock();
  CacheLock(CacheLock&&) = default;
  CacheLock& operator=(CacheLock&&) = delete;

 private:
  CacheLock(Descriptor file, std::int64_t place);

  bool set(short type) const;  // with the reason in errno where it fails

  Descriptor file_;
  std::int64_t place_;
};

}  // namespace wkvc
