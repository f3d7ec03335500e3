#include "runtime/base/files.h"

#include <sys/stat.h>
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

TEST(Files, TemporaryDirectoriesArePrivateAndRemoved) {
  fs::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace wkvc
