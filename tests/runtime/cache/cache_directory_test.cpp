// Directories and files that the cache must not use, or cannot.
#include "runtime/cache/cache_directory.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "runtime/cache/cache_upkeep.h"
#include "tests/runtime/cache/cache_test.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CacheDirectories : public CacheTest {
 protected:
  // Runs it in a process of its own, where it may change what concerns the whole process; what it returns is what the
  // process ends with.
  static int status_of(const std::function<int()>& action) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(action());
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // A payload that does not fit: it is given all the same, with one warning that says `part`, and nothing is left.
  int stores_nothing(const std::string& part) {
    const std::string payload = random_bytes(200'000);
    const bool right = find_or_make(key_of("x"), payload) == payload && find_or_make(key_of("x"), payload) == payload;
    const bool warned = warnings.size() == 1 && warnings[0].find(part) != std::string::npos;
    const bool nothing = find(key_of("x")) == std::nullopt && list_cache(settings).empty();
    return right && warned && nothing && made == 2 ? 0 : 1;
  }
};

mode_t mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(CacheDirectories, AreMadeForTheirOwnerOnly) {
  const mode_t before = ::umask(0);
  find_or_make(key_of("x"), "payload");
  ::umask(before);
  EXPECT_EQ(mode_of(settings.directory.parent_path()), 0700U);
  EXPECT_EQ(mode_of(settings.directory), 0700U);
  EXPECT_EQ(mode_of(file_of(key_of("x"))), 0600U);
  EXPECT_EQ(mode_of(settings.directory / "lock"), 0600U);
}

TEST_F(CacheDirectories, OpenToOthersAreRefused) {
  for (const mode_t mode : {0755, 0750, 0705, 0777, 0701}) {
    settings.directory = parent.path() / std::to_string(mode);
    fs::create_directory(settings.directory);
    ::chmod(settings.directory.c_str(), mode);
    warnings.clear();
    expect_memory_only("run chmod 700 " + settings.directory.string());
    EXPECT_TRUE(fs::is_empty(settings.directory));
    expect_error([&] { list_cache(settings); }, {"chmod 700"});
    expect_error([&] { clear_cache(settings.directory); }, {"chmod 700"});
  }
}

TEST_F(CacheDirectories, OfOtherUsersAreRefused) {
  settings.directory = parent.path();
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(settings.directory.c_str(), 12345, 12345), 0);
  } else {
    settings.directory = "/";
  }
  expect_memory_only("belongs to user");
}

TEST_F(CacheDirectories, SymbolicLinksAreRefused) {
  const fs::path real = parent.path() / "real", link = parent.path() / "link";
  fs::create_directory(real);
  ::chmod(real.c_str(), 0700);
  fs::create_directory_symlink(real, link);
  for (const fs::path& path : {link, link / "", link / "."}) {
    settings.directory = path;
    EXPECT_EQ(find_or_make(key_of("x"), "payload"), "payload");
    expect_error([&] { list_cache(settings); }, {"symbolic link"});
  }
  EXPECT_TRUE(fs::is_empty(real));
  EXPECT_THAT(warnings, ::testing::Each(HasSubstr("symbolic link")));
  EXPECT_FALSE(warnings.empty());
  settings.directory = link / "below";  // on the way there one is as good as a directory
  find_or_make(key_of("x"), "payload");
  EXPECT_EQ(find(key_of("x")), "payload");
}

TEST_F(CacheDirectories, ThatCannotBeMadeAreDoneWithout) {
  const fs::path file = parent.path() / "file";
  const std::string_view piece = "x";
  write_file_atomically(file, {&piece, 1});
  for (const fs::path& path : {file, file / "below", fs::path("/proc/nowhere/wkvc"), fs::path("/dev/null")}) {
    settings.directory = path;
    warnings.clear();
    expect_memory_only(path.string());
  }
}

TEST_F(CacheDirectories, ThatCannotBeWrittenAreDoneWithout) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  find_or_make(key_of("x"), "payload");
  ::chmod(settings.directory.c_str(), 0500);
  expect_memory_only("Permission denied");
  EXPECT_EQ(find(key_of("x")), "payload");
  ::chmod(settings.directory.c_str(), 0700);
}

TEST_F(CacheDirectories, AFullDiskIsDoneWithout) {
  constexpr int not_permitted = 77;
  const int status = status_of([&] {
    fs::create_directories(settings.directory);
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", settings.directory.c_str(), "tmpfs", 0, "size=64k,mode=700") != 0) {
      return not_permitted;
    }
    return stores_nothing("No space left on device");
  });
  if (status == not_permitted) GTEST_SKIP() << "no small file system can be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(CacheDirectories, ALimitOfFilesIsKept) {
  EXPECT_EQ(status_of([&] {
              const rlimit limit{100'000, 100'000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              return stores_nothing("File too large");
            }),
            0);
}

TEST_F(CacheDirectories, FilesOfOthersAndLinksAreNoEntries) {
  const CacheKey key = key_of("x");
  const fs::path elsewhere = parent.path() / "elsewhere";
  const auto replaced_by = [&](const std::function<void()>& replace) {
    find_or_make(key, "payload");
    replace();
    EXPECT_EQ(find(key), std::nullopt);
    EXPECT_NE(list_cache(settings).at(0).fault, "");
    EXPECT_EQ(find_or_make(key, "payload"), "payload");
    EXPECT_EQ(find(key), "payload");
    EXPECT_EQ(mode_of(file_of(key)), 0600U);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file_of(key))));
  };
  replaced_by([&] {  // though what it leads to is a good entry
    fs::rename(file_of(key), elsewhere);
    fs::create_symlink(elsewhere, file_of(key));
  });
  EXPECT_TRUE(fs::exists(elsewhere));
  replaced_by([&] {
    fs::remove(file_of(key));
    fs::create_symlink("/dev/zero", file_of(key));
  });
  replaced_by([&] {
    fs::remove(file_of(key));
    ASSERT_EQ(::mkfifo(file_of(key).c_str(), 0600), 0);
  });
  replaced_by([&] { ::chmod(file_of(key).c_str(), 0644); });
  if (::geteuid() == 0) {
    replaced_by([&] { ASSERT_EQ(::chown(file_of(key).c_str(), 12345, 12345), 0); });
  }
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(CacheDirectories, AFolderInPlaceOfAnEntryIsLeftAlone) {
  const CacheKey key = key_of("x");
  fs::create_directories(file_of(key));
  ::chmod(settings.directory.c_str(), 0700);
  EXPECT_EQ(find_or_make(key, "payload"), "payload");
  EXPECT_EQ(find(key), std::nullopt);
  EXPECT_TRUE(fs::is_directory(file_of(key)));
  EXPECT_EQ(warnings.size(), 2U);  // it is no entry; it cannot be written
}

TEST_F(CacheDirectories, WithoutALockEntriesAreStillFound) {
  const CacheKey key = key_of("x");
  fs::create_directories(settings.directory / "lock");
  ::chmod(settings.directory.c_str(), 0700);
  EXPECT_EQ(find_or_make(key, "payload"), "payload");
  EXPECT_EQ(find(key), "payload");
  EXPECT_THAT(warnings, IsEmpty());
}

}  // namespace
}  // namespace wkvc
