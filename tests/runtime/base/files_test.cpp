#include "runtime/base/files.h"
#include "runtime/base/temporary_directory.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;
using namespace std::literals;

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Files, AreWrittenWholeAndReplaced) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "file";
  write_file_atomically(path, std::array{"one"sv, ""sv, "two"sv});
  EXPECT_EQ(contents(path), "onetwo");
  write_file_atomically(path, std::array{"new"sv});
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1);
}

TEST(Files, OfTheirOwnerOnly) {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(0);
  write_file_atomically(directory.path() / "private", std::array{"x"sv}, Readers::owner);
  write_file_atomically(directory.path() / "public", std::array{"x"sv});
  ::umask(before);
  EXPECT_EQ(fs::status(directory.path() / "private").permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(directory.path() / "public").permissions(), fs::perms(0666));
}

// As processes with the same number leave them that were killed.
TEST(Files, LeftOversDoNotMatter) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "file";
  for (int i = 1; i <= 50; ++i) std::ofstream(path.string() + fmt::format(".{}.{}.tmp", ::getpid(), i)) << "x";
  write_file_atomically(path, std::array{"whole"sv});
  EXPECT_EQ(contents(path), "whole");
}

TEST(Files, TextsAreReadWhole) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "text";
  std::ofstream(path, std::ios::binary) << "one\n\0two"s;
  EXPECT_EQ(read_text(path, "text"), "one\n\0two"s);
  expect_error([&] { read_text(directory.path(), "a poem"); }, {"no regular file", "directory", "expected a poem"});
  expect_error([&] { read_text(directory.path() / "none", "a poem"); }, {"none", "cannot be read", "No such file"});
  fs::resize_file(path, (64 << 20) + 1);
  expect_error([&] { read_text(path, "a poem"); }, {path.string(), "more than 64 MiB"});
}

TEST(Files, DevicesAreNotReplaced) {
  expect_error([] { write_file_atomically("/dev/null", std::array{"x"sv}); }, {"/dev/null", "no regular file"});
}

// A process that writes more than it may is ended by a signal, unless that is held off.
TEST(Files, BeyondTheLimitOfTheirSizeLeaveNothing) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "file";
  std::ofstream(path) << "before";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text(2000, 'x');
    expect_error([&] { write_file_atomically(path, std::array{std::string_view(text)}); },
                 {"cannot write " + path.string(), "File too large", "Nothing was written to it", "ulimit -f"});
    sigset_t pending;
    ::sigpending(&pending);
    ::_exit(::testing::Test::HasFailure() || sigismember(&pending, SIGXFSZ) == 1 ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents(path), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1);
}

TEST(Files, ThatBelongTogetherAreAllWrittenOrNone) {
  const TemporaryDirectory directory;
  const fs::path first = directory.path() / "first", second = directory.path() / "second";
  write_files_atomically(std::array{TextFile{first, "1"}, TextFile{second, "2"}});
  EXPECT_EQ(contents(first) + contents(second), "12");
  expect_error([&] { write_files_atomically(std::array{TextFile{first, "3"}, TextFile{"/nowhere/x", "4"}}); },
               {"cannot write /nowhere/x", "No such file"});
  EXPECT_EQ(contents(first), "1");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 2);
}

}  // namespace
}  // namespace wkvc
