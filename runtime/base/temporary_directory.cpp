#include "runtime/base/temporary_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include "runtime/base/folders.h"
#include "runtime/base/leftovers.h"
#include "runtime/base/process.h"
#include "runtime/base/reason.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

// Nobody gives such a name to a folder that is to stay.
constexpr std::string_view beginning = "wkvc-temporary-files-", rest = "XXXXXX";

fs::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const auto folder = folder_from(variable);
    std::error_code ignored;
    if (folder && folder->is_absolute() && fs::is_directory(*folder, ignored)) return *folder;
  }
  return "/tmp";
}

// Empty where somebody else has locked the directory, or a file system has no such locks.
Descriptor locked(const fs::path& directory) {
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return opened && ::flock(opened.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(opened) : Descriptor();
}

// True for a directory of this user's that was made long enough ago for its process to have locked it.
bool may_be_left(const fs::path& directory) {
  constexpr std::time_t minute = 60;
  struct stat status{};
  return ::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         status.st_mtim.tv_sec < std::time(nullptr) - minute;
}

// Removes what processes have left that were killed: the lock ends with its process, however that ends.
void remove_left(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() != beginning.size() + rest.size() || !name.starts_with(beginning)) continue;
    if (!may_be_left(it->path())) continue;
    std::error_code ignored;
    if (const Descriptor lock = locked(it->path())) fs::remove_all(it->path(), ignored);
  }
}

fs::path made_in(const fs::path& folder) {
  std::string name = (folder / beginning).string() + std::string(rest);
  if (::mkdtemp(name.data()) != nullptr) return name;
  const int error = errno;
  user_error("cannot make a temporary directory {}: {}. Set TMPDIR to a folder you can write, or {}", name,
             reason(error), remedy(error, "make this one writable"));
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  const fs::path folder = temporary_folder();
  remove_left(folder);
  path_ = Leftovers::all().add([&] { return made_in(folder); });
  lock_ = locked(path_);
}

TemporaryDirectory::~TemporaryDirectory() { remove(); }

void TemporaryDirectory::remove() {
  Leftovers::all().remove(path_);
  lock_ = Descriptor();
}

void leave_nothing_behind() {
  end_processes();
  Leftovers::all().remove_for_good();
}

}  // namespace wkvc
