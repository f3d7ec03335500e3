// Whole files.
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

struct TextFile {
  std::filesystem::path path;
  std::string_view text;
};

// The same for several files that belong together: none gets its name before all of them are written.
void write_files_atomically(std::span<const TextFile> files);

// The contents of a text file or a pipe (streams.h); `expected` says what it should be: "text of a stage". Throws
// UserError, beginning with the path, when it cannot be read, is neither of them, or has more than 64 MiB, which no
// text of wkvc's has.
std::string read_text(const std::filesystem::path& path, std::string_view expected);

// Throws UserError where it can be told beforehand that `path` cannot be written. Creates and changes nothing.
void expect_writable(const std::filesystem::path& path);

// "is no regular file but a directory", "has an empty name"; empty for a regular file and where there is none. It opens
// nothing: opening a FIFO waits, and a device may have no end.
std::string why_irregular(const std::filesystem::path& path);

}  // namespace wkvc
