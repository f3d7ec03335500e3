#include "runtime/base/files.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <fstream>
#include <string>
#include <system_error>

#include "runtime/base/pending_file.h"
#include "runtime/base/reason.h"
#include "runtime/base/streams.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// Renaming over a device or a folder would replace it.
void expect_replaceable(const std::filesystem::path& path) {
  const std::string fault = why_irregular(path);
  if (!fault.empty()) user_error("cannot write {}: it {}. Name a file", path.string(), fault);
}

const char* kind_of(std::filesystem::file_type type) {
  switch (type) {
    case std::filesystem::file_type::directory:
      return "directory";
    case std::filesystem::file_type::fifo:
      return "FIFO";
    case std::filesystem::file_type::socket:
      return "socket";
    default:
      return "device";
  }
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                           Readers readers) {
  expect_replaceable(path);
  PendingFile file(path, readers == Readers::owner ? 0600 : 0666);
  for (const std::string_view piece : pieces) file.write(piece);
  file.close();
  file.replace();
}

void write_files_atomically(std::span<const TextFile> files) {
  std::deque<PendingFile> pending;
  for (const TextFile& file : files) {
    expect_replaceable(file.path);
    PendingFile& one = pending.emplace_back(file.path, 0666);
    one.write(file.text);
    one.close();
  }
  for (PendingFile& file : pending) file.replace();
}

std::string read_text(const std::filesystem::path& path, std::string_view expected) {
  constexpr std::size_t most = std::size_t{64} << 20;
  const std::string name = name_of_input(path);
  const auto expect_short = [&](const std::string& text) {
    if (text.size() > most) user_error("{}: has more than 64 MiB; expected {}", name, expected);
  };
  if (is_pipe(path)) {
    std::string text = read_pipe(path, most);
    expect_short(text);
    return text;
  }
  if (const std::string fault = why_irregular(path); !fault.empty()) {
    user_error("{}: {}; expected {}", name, fault, expected);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> piece{};
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    expect_short(text);
  }
  if (!file.eof()) user_error("{}: cannot be read: {}", name, reason(errno));
  return text;
}

void expect_writable(const std::filesystem::path& path) {
  expect_replaceable(path);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (!std::filesystem::is_directory(status)) {
    errno = error ? error.value() : ENOTDIR;
    fail_to_write(path);
  }
  // A new file takes the place of an old one, so that it is the folder that has to be writable.
  if (path.filename().empty()) errno = ENOENT;
  if (path.filename().empty() || ::access(folder.c_str(), W_OK | X_OK) != 0) fail_to_write(path);
}

std::string why_irregular(const std::filesystem::path& path) {
  if (path.empty()) return "has an empty name";
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return "";
  return fmt::format("is no regular file but a {}", kind_of(status.type()));
}

}  // namespace wkvc
