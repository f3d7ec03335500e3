// A file that one process appends to, record by record, so that an interrupt loses nothing that was appended.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace wkvc {

class AppendFile {
 public:
  // Opens `path` for reading and appending and makes it when there is none. Throws UserError when it cannot be opened,
  // is no regular file, or another AppendFile has it, in this process or in another.
  explicit AppendFile(const std::filesystem::path& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  std::string contents() const;  // throws UserError when it cannot be read
  void truncate(std::size_t bytes);

  // In one write, which is on the disk when it returns. Throws UserError when it cannot be written; then the file is
  // what it was before.
  void append(std::string_view record);

 private:
  AppendFile(const std::filesystem::path& path, int descriptor);
  std::size_t size() const;
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace wkvc
