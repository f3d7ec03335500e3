// Whole files and private directories.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace wkvc {

enum class Readers { as_umask_has_it, owner };

// Writes the pieces one after another under a temporary name beside `path` (PATH.….tmp), then renames: `path` holds the
// whole contents or what it held before. Throws UserError when it cannot be written; then no file is left behind.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                           Readers readers = Readers::as_umask_has_it);

// The contents of a text file or a pipe (streams.h); `expected` says what it should be: "text of a stage". Throws
// UserError, beginning with the path, when it cannot be read, is neither of them, or has more than 64 MiB, which no
// text of wkvc's has.
std::string read_text(const std::filesystem::path& path, std::string_view expected);

// Throws UserError where it can be told beforehand that `path` cannot be written. Creates and changes nothing.
void expect_writable(const std::filesystem::path& path);

// "is no regular file but a directory", "has an empty name"; empty for a regular file and where there is none. It opens
// nothing: opening a FIFO waits, and a device may have no end.
std::string why_irregular(const std::filesystem::path& path);

// For a process that a signal is about to end: ends the programs it waits for and removes its temporary directories and
// the files it has not finished. Other threads that would make or remove more of them stop there from then on.
void leave_nothing_behind();

// A directory only this user can read, removed with its contents at destruction, or when the process ends normally.
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
