#include "runtime/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <system_error>

#include "runtime/base/process.h"
#include "runtime/base/reason.h"
#include "runtime/base/streams.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// For the reason in errno.
[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
  user_error("cannot write {}: {}. Nothing was written; check that the folder exists and is writable", path.string(),
             reason(errno));
}

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

// What a process that ends early would leave behind.
struct Leftovers {
  std::mutex mutex;
  std::set<std::filesystem::path> paths;

  void forget(const std::filesystem::path& path) {
    const std::lock_guard lock(mutex);
    paths.erase(path);
  }

  // With the mutex held.
  void remove_all() const {
    for (const std::filesystem::path& path : paths) {
      // A program or thread that was writing there may have added a file while the others were removed.
      std::error_code error;
      for (int attempt = 0; attempt < 10; ++attempt) {
        std::filesystem::remove_all(path, error);
        if (!error) break;
      }
    }
  }
};

Leftovers& leftovers() {
  // Never destroyed: other statics own directories until the process ends.
  static auto* const all = new Leftovers;
  return *all;
}

// A file that is removed unless it was renamed to its real name.
class PendingFile {
 public:
  PendingFile(const std::filesystem::path& target, mode_t mode) : target_(target) {
    const std::lock_guard lock(leftovers().mutex);
    // A process that was killed, or one of another container, may have left a file of the same name.
    for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
      temporary_ = new_temporary();
      descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
    if (descriptor_ < 0) fail();
    leftovers().paths.insert(temporary_);
  }
  ~PendingFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(temporary_.c_str());
    leftovers().forget(temporary_);
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
  [[noreturn]] void fail() const { fail_to_write(target_); }

  std::filesystem::path new_temporary() const {
    static std::atomic<int> counter = 0;
    std::filesystem::path path = target_;
    return path += fmt::format(".{}.{}.tmp", ::getpid(), ++counter);
  }

  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                           Readers readers) {
  expect_replaceable(path);
  PendingFile file(path, readers == Readers::owner ? 0600 : 0666);
  for (const std::string_view piece : pieces) file.write(piece);
  file.finish();
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

void leave_nothing_behind() {
  end_processes();
  leftovers().mutex.lock();  // for good
  leftovers().remove_all();
}

namespace {

// At a normal end: statics that are never destroyed, such as kernels that threads may still launch, own directories.
void remove_leftovers() {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().remove_all();
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  [[maybe_unused]] static const int registered = std::atexit(remove_leftovers);
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? "/tmp" : parent) / "wkvc-XXXXXX").string();
  const std::lock_guard lock(leftovers().mutex);
  if (::mkdtemp(name.data()) == nullptr) {
    user_error("cannot make a temporary directory {}: {}. Set TMPDIR to a folder you can write", name, reason(errno));
  }
  path_ = name;
  leftovers().paths.insert(path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  leftovers().forget(path_);
}

}  // namespace wkvc
