#include "runtime/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "runtime/error.h"

namespace wkvc {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// A file that is removed unless it was renamed to its real name.
class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& target) : target_(target), temporary_(target) {
    static std::atomic<int> counter = 0;
    temporary_ += fmt::format(".{}.{}.tmp", ::getpid(), ++counter);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail();
  }
  ~PendingFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(temporary_.c_str());
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void write(std::string_view piece) {
    while (!piece.empty()) {
      const ssize_t written = ::write(descriptor_, piece.data(), std::min<std::size_t>(piece.size(), 1U << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      piece.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void finish() {
    // Closing reports what a network file system could not store.
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 || ::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
    renamed_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    user_error("cannot write {}: {}. Nothing was written; check that the folder exists and is writable",
               target_.string(), reason(errno));
  }

  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    // Renaming over a device or a folder would replace it.
    user_error("cannot write {}: it exists and is no regular file. Name a file", path.string());
  }
  PendingFile file(path);
  for (const std::string_view piece : pieces) file.write(piece);
  file.finish();
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? "/tmp" : parent) / "wkvc-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    user_error("cannot make a temporary directory {}: {}. Set TMPDIR to a folder you can write", name, reason(errno));
  }
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace wkvc
