#include "autotune/lockfile/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/base/files.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// A new file's name is on the disk when its folder is. Some file systems cannot do that, and the file is good anyway.
void sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// Negative when it cannot be opened.
int open_file(const std::filesystem::path& path) {
  const std::string fault = why_irregular(path);  // opening a FIFO would wait
  if (!fault.empty()) user_error("cannot write {}: it {}. Name a file", path.string(), fault);
  return ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

ssize_t write_once(int descriptor, std::string_view record) {
  ssize_t written = 0;
  do {
    written = ::write(descriptor, record.data(), record.size());
  } while (written < 0 && errno == EINTR);
  return written;
}

}  // namespace

AppendFile::AppendFile(const std::filesystem::path& path, int descriptor) : path_(path), descriptor_(descriptor) {}

// Delegates, so that the descriptor is closed when anything here throws.
AppendFile::AppendFile(const std::filesystem::path& path) : AppendFile(path, open_file(path)) {
  if (descriptor_ < 0) fail(errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail(errno);
    user_error("{} is being written by another run: wait until it is done, or name another file", path.string());
  }
  if (size() == 0) sync_folder_of(path);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string AppendFile::contents() const { return read_text(path_, "a file that wkvc appends to"); }

std::size_t AppendFile::size() const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) fail(errno);
  return static_cast<std::size_t>(status.st_size);
}

void AppendFile::truncate(std::size_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail(errno);
}

void AppendFile::append(std::string_view record) {
  const std::size_t before = size();
  const ssize_t written = write_once(descriptor_, record);
  int error = written < 0 ? errno : static_cast<std::size_t>(written) < record.size() ? ENOSPC : 0;
  if (error == 0 && ::fsync(descriptor_) != 0) error = errno;
  if (error == 0) return;
  truncate(before);
  fail(error);
}

void AppendFile::fail(int error) const {
  user_error("cannot write {}: {}. Check that its folder exists and is writable, and that there is room",
             path_.string(), std::generic_category().message(error));
}

}  // namespace wkvc
