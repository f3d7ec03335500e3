#include "runtime/cache/cache_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "runtime/base/reason.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr mode_t others = S_IRWXG | S_IRWXO;
constexpr const char* elsewhere = "or set WKVC_CACHE_DIR to a folder of your own";

// What is missing of it, for this user only. Opening it says why where that is not possible.
void make_directories(const std::filesystem::path& path) {
  std::filesystem::path made;
  for (const std::filesystem::path& part : path) {
    made /= part;
    ::mkdir(made.c_str(), S_IRWXU);
  }
}

Descriptor open_directory(const std::filesystem::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// For the reason in errno.
[[noreturn]] void fail_to_open(const std::filesystem::path& path) {
  const int error = errno;
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    user_error("the cache directory {} is a symbolic link: set WKVC_CACHE_DIR to what it leads to, {}", path.string(),
               elsewhere);
  }
  user_error("the cache directory {} cannot be used: {}. Make it a folder that you can write, {}", path.string(),
             reason(error), elsewhere);
}

void expect_private(const std::filesystem::path& path, const Descriptor& directory) {
  struct stat status{};
  if (::fstat(directory.get(), &status) != 0) fail_to_open(path);
  if (status.st_uid != ::geteuid()) {
    user_error("the cache directory {} belongs to user {}, not to you (user {}): remove it, {}", path.string(),
               status.st_uid, ::geteuid(), elsewhere);
  }
  if ((status.st_mode & others) != 0) {
    user_error("the cache directory {} is open to other users (mode {:04o}): run chmod 700 {}, {}", path.string(),
               status.st_mode & 07777U, path.string(), elsewhere);
  }
}

// Without "." and a slash at the end, which would let the last part be a symbolic link.
std::filesystem::path normal(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

std::int64_t expect_own_file(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) user_error("is no regular file");
  if (status.st_uid != ::geteuid()) user_error("belongs to user {}", status.st_uid);
  if ((status.st_mode & others) != 0) user_error("is open to other users");
  return status.st_size;
}

// Of so many bytes; fewer when the file has become shorter.
std::string read_all(const Descriptor& file, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) user_error("cannot be read: {}", reason(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

std::chrono::system_clock::time_point time_of(const timespec& time) {
  using namespace std::chrono;
  return system_clock::time_point(
      duration_cast<system_clock::duration>(seconds(time.tv_sec) + nanoseconds(time.tv_nsec)));
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

CacheDirectory::CacheDirectory(std::filesystem::path path, Descriptor directory)
    : path_(std::move(path)), directory_(std::move(directory)) {
  expect_private(path_, directory_);
}

CacheDirectory CacheDirectory::open(const std::filesystem::path& path) {
  if (auto existing = open_existing(path)) return std::move(*existing);
  const std::filesystem::path whole = normal(path);
  make_directories(whole);
  Descriptor made = open_directory(whole);
  if (!made) fail_to_open(whole);
  return {whole, std::move(made)};
}

std::optional<CacheDirectory> CacheDirectory::open_existing(const std::filesystem::path& path) {
  const std::filesystem::path whole = normal(path);
  Descriptor directory = open_directory(whole);
  if (!directory && errno == ENOENT) return std::nullopt;
  if (!directory) fail_to_open(whole);
  return CacheDirectory(whole, std::move(directory));
}

std::optional<std::string> CacheDirectory::read(const std::string& name, std::int64_t max_bytes) const {
  // Nothing waits or takes effect on opening, whatever lies there.
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Descriptor file(::openat(directory_.get(), name.c_str(), flags));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file && errno == ELOOP) user_error("is a symbolic link");
  if (!file) user_error("cannot be opened: {}", reason(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) user_error("cannot be read: {}", reason(errno));
  const std::int64_t size = expect_own_file(status);
  if (size > max_bytes) user_error("has {} bytes, more than the whole cache may have ({})", size, max_bytes);
  return read_all(file, size);
}

Descriptor CacheDirectory::open_for_locks(const std::string& name) const {
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  return Descriptor(::openat(directory_.get(), name.c_str(), flags, S_IRUSR | S_IWUSR));
}

std::vector<CacheFile> CacheDirectory::files() const {
  // Of its own: the position in a directory belongs to who opened it.
  Descriptor again(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(again.get()));
  if (!entries) user_error("the cache directory {} cannot be read: {}", path_.string(), reason(errno));
  again.release();
  std::vector<CacheFile> files;
  while (const dirent* entry = ::readdir(entries.get())) {
    struct stat status{};
    if (::fstatat(directory_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // it is gone
    if (!S_ISDIR(status.st_mode)) files.push_back({entry->d_name, status.st_size, time_of(status.st_mtim)});
  }
  return files;
}

void CacheDirectory::mark_used(const std::string& name) const {
  ::utimensat(directory_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

bool CacheDirectory::remove(const std::string& name) const {
  return ::unlinkat(directory_.get(), name.c_str(), 0) == 0;
}

void CacheDirectory::make_room_for(const std::string& name) const {
  struct stat status{};
  const bool there = ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISREG(status.st_mode)) remove(name);
}

}  // namespace wkvc
