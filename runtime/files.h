// Whole files and private directories.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace wkvc {

// Writes the pieces one after another under a temporary name beside `path`, then renames: `path` holds the whole
// contents or what it held before. Throws UserError when it cannot be written; then no file is left behind.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// A directory only this user can read, removed with its contents at destruction.
class TemporaryDirectory {
 public:
  TemporaryDirectory();  // under $TMPDIR or /tmp; throws UserError
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wkvc
