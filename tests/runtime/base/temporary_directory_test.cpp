// Temporary directories, wherever they are made and however their processes end; and folders that the environment
// names.
#include "runtime/base/temporary_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "runtime/base/folders.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/scoped_environment.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

// How a forked process ends that does `action`.
int status_of(const std::function<int()>& action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A directory as a process that was killed has left it.
fs::path left_in(const fs::path& folder, const char* name = "wkvc-temporary-files-AbC123") {
  fs::create_directories(folder / name / "inner");
  std::ofstream(folder / name / "inner" / "file") << "x";
  const timespec hour_ago[2] = {{::time(nullptr) - 3600, 0}, {::time(nullptr) - 3600, 0}};
  EXPECT_EQ(::utimensat(AT_FDCWD, (folder / name).c_str(), hour_ago, 0), 0);
  return folder / name;
}

TEST(TemporaryDirectories, ArePrivateAndRemoved) {
  fs::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryDirectories, OnesOfKilledProcessesGo) {
  const TemporaryDirectory folder;
  const ScopedEnvironment variable("TMPDIR", folder.path());
  const fs::path left = left_in(folder.path());
  const TemporaryDirectory next;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(next.path()));
}

TEST(TemporaryDirectories, OnesInUseAndOthersFoldersStay) {
  const TemporaryDirectory folder;
  const ScopedEnvironment variable("TMPDIR", folder.path());
  const fs::path used = left_in(folder.path()), others = left_in(folder.path(), "wkvc-models");
  const int lock = ::open(used.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  const fs::path young = folder.path() / "wkvc-temporary-files-XyZ789";
  fs::create_directory(young);
  {
    const TemporaryDirectory next;
  }
  EXPECT_TRUE(fs::exists(used));
  EXPECT_TRUE(fs::exists(others));
  EXPECT_TRUE(fs::exists(young));
  ::close(lock);
}

// A process that holds one for an hour keeps it.
TEST(TemporaryDirectories, TheirProcessesLockThem) {
  const TemporaryDirectory folder;
  const ScopedEnvironment variable("TMPDIR", folder.path());
  const TemporaryDirectory used;
  const timespec hour_ago[2] = {{::time(nullptr) - 3600, 0}, {::time(nullptr) - 3600, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, used.path().c_str(), hour_ago, 0), 0);
  {
    const TemporaryDirectory next;
  }
  EXPECT_TRUE(fs::exists(used.path()));
}

TEST(TemporaryDirectories, AForkedProcessLeavesItsParentsAlone) {
  const TemporaryDirectory directory;
  EXPECT_EQ(status_of([] {
              std::exit(0);  // a normal end
              return 1;
            }),
            0);
  EXPECT_TRUE(fs::exists(directory.path()));
  EXPECT_EQ(status_of([&] {
              const_cast<TemporaryDirectory&>(directory).remove();
              leave_nothing_behind();
              return 0;
            }),
            0);
  EXPECT_TRUE(fs::exists(directory.path()));
}

TEST(TemporaryDirectories, ARelativeFolderStaysTheSame) {
  const TemporaryDirectory work;
  EXPECT_EQ(status_of([&] {
              fs::create_directories(work.path() / "first" / "temporary");
              fs::create_directories(work.path() / "second");
              fs::current_path(work.path() / "first");
              const ScopedEnvironment variable("TMPDIR", "temporary");
              fs::path path;
              {
                const TemporaryDirectory directory;
                path = directory.path();
                fs::current_path(work.path() / "second");
                if (!path.is_absolute() || !fs::exists(path)) return 1;
                if (TemporaryDirectory().path().parent_path() != path.parent_path()) return 2;
              }
              return fs::is_empty(work.path() / "first" / "temporary") && fs::is_empty(work.path() / "second") ? 0 : 3;
            }),
            0);
}

TEST(TemporaryDirectories, SayWhyThereIsNone) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryDirectory folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const ScopedEnvironment variable("TMPDIR", folder.path());
  expect_error([] { const TemporaryDirectory directory; }, {"temporary directory", "Permission denied", "TMPDIR"});
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(Folders, OfTheEnvironment) {
  constexpr const char* name = "WKVC_TEST_FOLDER";
  EXPECT_EQ(folder_from(name), std::nullopt);
  const auto expect = [](const char* value, const fs::path& path) {
    const ScopedEnvironment variable(name, value);
    EXPECT_EQ(folder_from(name), path) << value;
  };
  const ScopedEnvironment home("HOME", "/home/me");
  expect("", "");
  expect("/a/b", "/a/b");
  expect("~", "/home/me/");
  expect("~/x", "/home/me/x");
  expect("x/y", fs::current_path() / "x/y");
}

}  // namespace
}  // namespace wkvc
