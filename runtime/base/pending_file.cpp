#include "runtime/base/pending_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "runtime/base/leftovers.h"
#include "runtime/base/reason.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// A write beyond the process's limit of a file's size raises SIGXFSZ, which ends a process. As long as this object
// lives, such a write by this thread only fails, with EFBIG.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutSizeSignal() {
    const int error = errno;
    if (sigismember(&before_, SIGXFSZ) == 0) {
      const timespec at_once{};
      while (::sigtimedwait(&signal_, nullptr, &at_once) == SIGXFSZ) {
      }
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    errno = error;
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  sigset_t signal_{}, before_{};
};

ssize_t write_some(int descriptor, std::string_view piece) {
  const WithoutSizeSignal guard;
  return ::write(descriptor, piece.data(), std::min<std::size_t>(piece.size(), 1U << 30));
}

}  // namespace

void fail_to_write(const std::filesystem::path& path) {
  const int error = errno;
  user_error("cannot write {}: {}. Nothing was written to it; {}", path.string(), reason(error),
             remedy(error, "check that the folder exists and is writable"));
}

PendingFile::PendingFile(const std::filesystem::path& target, mode_t mode) : target_(target) {
  temporary_ = Leftovers::all().add([&] { return open_new(mode); });
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!renamed_) ::unlink(temporary_.c_str());
  Leftovers::all().forget(temporary_);
}

void PendingFile::write(std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t written = write_some(descriptor_, piece);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
}

void PendingFile::close() {
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail();
}

void PendingFile::replace() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  renamed_ = true;
}

void PendingFile::fail() const { fail_to_write(target_); }

// A process that was killed, or one of another container, may have left a file of the same name.
std::filesystem::path PendingFile::open_new(mode_t mode) {
  static std::atomic<int> counter = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::filesystem::path path = target_;
    path += fmt::format(".{}.{}.tmp", ::getpid(), ++counter);
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ >= 0) return path;
    if (errno != EEXIST) break;
  }
  fail();
}

}  // namespace wkvc
