// The directory that the cache's files lie in. Internal to the runtime.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"

namespace wkvc {

struct CacheFile {
  std::string name;
  std::int64_t bytes = 0;
  std::chrono::system_clock::time_point used;
};

// Once it was found to be private it is held open, so that what is read comes from that very directory.
class CacheDirectory {
 public:
  // Makes the directory, for this user only, where it is missing. Throws UserError unless it is a real directory of
  // this user's that is closed to all others.
  static CacheDirectory open(const std::filesystem::path& path);
  // The same, but empty where there is none.
  static std::optional<CacheDirectory> open_existing(const std::filesystem::path& path);

  std::filesystem::path path_of(const std::string& name) const { return path_ / name; }

  // The contents of a file; empty when it is missing. Throws UserError unless it is a regular file of this user's,
  // closed to others, of at most `max_bytes` bytes.
  std::optional<std::string> read(const std::string& name, std::int64_t max_bytes) const;

  // For reading and writing, made where it is missing; none, with the reason in errno, where that is not possible.
  Descriptor open_for_locks(const std::string& name) const;

  std::vector<CacheFile> files() const;               // whatever lies there, apart from directories
  void mark_used(const std::string& name) const;      // now
  bool remove(const std::string& name) const;         // a link, not what it leads to; false where that is not possible
  void make_room_for(const std::string& name) const;  // removes what is no regular file

 private:
  CacheDirectory(std::filesystem::path path, Descriptor directory);

  std::filesystem::path path_;
  Descriptor directory_;
};

}  // namespace wkvc
