// A file that is written under a temporary name. Internal to the runtime.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

namespace wkvc {

// Lies beside `target` as TARGET.….tmp until it gets that name. Every failure is a UserError, and leaves nothing there.
class PendingFile {
 public:
  PendingFile(const std::filesystem::path& target, mode_t mode);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void write(std::string_view piece);
  void close();    // says what a network file system could not store
  void replace();  // the target, by the closed file

 private:
  [[noreturn]] void fail() const;  // for the reason in errno
  std::filesystem::path open_new(mode_t mode);

  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

// Throws UserError for the reason in errno.
[[noreturn]] void fail_to_write(const std::filesystem::path& path);

}  // namespace wkvc
