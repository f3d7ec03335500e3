// Entries of the cache: found as they were stored, or not at all.
#include "runtime/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>

#include "runtime/cache/cache_upkeep.h"
#include "runtime/version.h"
#include "tests/runtime/cache/cache_test.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/scoped_environment.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  const std::string_view piece = bytes;
  write_file_atomically(path, {&piece, 1}, Readers::owner);
}

class DiskCaches : public CacheTest {
 protected:
  std::vector<std::string> faults() const {
    std::vector<std::string> faults;
    for (const ListedEntry& entry : list_cache(settings)) faults.push_back(entry.fault);
    return faults;
  }
  std::int64_t entries() const { return static_cast<std::int64_t>(list_cache(settings).size()); }
  void use_long_ago(const std::string& source, int hours) const {
    fs::last_write_time(file_of(key_of(source)), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
};

TEST_F(DiskCaches, GiveBackWhatWasMade) {
  const std::string payload = random_bytes(200'000);
  for (const std::string& bytes : {payload, std::string(), std::string("\0\n\0", 3)}) {
    const CacheKey key = key_of("source of " + std::to_string(bytes.size()));
    EXPECT_EQ(find(key), std::nullopt);
    EXPECT_EQ(find_or_make(key, bytes), bytes);
    EXPECT_EQ(find(key), bytes);
    EXPECT_EQ(find_or_make(key, "never made"), bytes);
  }
  EXPECT_EQ(made, 3);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(DiskCaches, EveryPieceOfAKeyCounts) {
  CacheKey ab = key_of("x"), ba = key_of("x"), joined = key_of("x"), renamed = key_of("x");
  ab.add("option", "a"), ab.add("option", "b");
  ba.add("option", "b"), ba.add("option", "a");
  joined.add("option", "ab");
  renamed.add("choice", "a"), renamed.add("option", "b");
  CacheKey other_tool({.step = "text", .op = "rwkv7", .config = "head 64x64", .arch = "sm_90a", .tool = "none 1.1"});
  CacheKey other_wkvc(
      {.step = "text", .op = "rwkv7", .config = "head 64x64", .arch = "sm_90a", .tool = "none 1.0", .wkvc = "0"});
  other_tool.add("source", "x");
  other_wkvc.add("source", "x");
  find_or_make(key_of("x"), "payload");
  for (CacheKey* key : {&ab, &ba, &joined, &renamed, &other_tool, &other_wkvc}) find_or_make(*key, "payload");
  EXPECT_EQ(made, 7);
}

TEST_F(DiskCaches, FailuresOfTheMakerArePassedOnAndNotKept) {
  DiskCache cache(settings);
  expect_error([&] { cache.find_or_make(key_of("x"), []() -> std::string { user_error("no such thing"); }); },
               {"no such thing"});
  EXPECT_EQ(cache.find_or_make(key_of("x"), [] { return std::string("at last"); }), "at last");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(DiskCaches, AnEntryOfAnotherKeyIsRefused) {
  find_or_make(key_of("one"), "1");
  find_or_make(key_of("two"), "2");
  fs::copy_file(file_of(key_of("one")), file_of(key_of("two")), fs::copy_options::overwrite_existing);
  EXPECT_EQ(find(key_of("two")), std::nullopt);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("another key")));
  EXPECT_THAT(faults(), ::testing::UnorderedElementsAre("", HasSubstr("name of another entry")));
  EXPECT_EQ(find_or_make(key_of("two"), "2 again"), "2 again");
  EXPECT_EQ(find(key_of("two")), "2 again");
  EXPECT_EQ(find(key_of("one")), "1");
}

TEST_F(DiskCaches, TruncatedEntriesAreMadeAgain) {
  const CacheKey key = key_of("x");
  const std::string payload = random_bytes(20 << 10);
  find_or_make(key, payload);
  const auto whole = static_cast<std::int64_t>(fs::file_size(file_of(key)));
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 0; size < whole; size += 4096) sizes.push_back(size);
  for (std::int64_t size = 1; size <= 200; ++size) sizes.insert(sizes.end(), {size, whole - size});
  for (const std::int64_t size : sizes) {
    fs::resize_file(file_of(key), static_cast<std::uintmax_t>(size));
    ASSERT_EQ(find(key), std::nullopt) << size;
    ASSERT_NE(faults(), std::vector<std::string>{""}) << size;
    ASSERT_EQ(find_or_make(key, payload), payload) << size;
    ASSERT_EQ(find(key), payload) << size;
  }
  EXPECT_EQ(made, static_cast<int>(sizes.size()) + 1);
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(DiskCaches, LongerEntriesAreMadeAgain) {
  const CacheKey key = key_of("x");
  find_or_make(key, "payload");
  for (const std::string& more : {std::string(1, '\0'), random_bytes(4096)}) {
    write(file_of(key), contents(file_of(key)) + more);
    EXPECT_EQ(find(key), std::nullopt);
    EXPECT_EQ(find_or_make(key, "payload"), "payload");
    EXPECT_EQ(find(key), "payload");
  }
}

TEST_F(DiskCaches, EveryFlippedByteIsNoticed) {
  const CacheKey key = key_of("x");
  const std::string payload = random_bytes(20 << 10);
  find_or_make(key, payload);
  const std::string entry = contents(file_of(key));
  const auto put = [&](std::size_t at, char byte) {
    const int file = ::open(file_of(key).c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::pwrite(file, &byte, 1, static_cast<off_t>(at)), 1);
    ::close(file);
  };
  for (std::size_t i = 0; i < entry.size(); ++i) {
    put(i, static_cast<char>(entry[i] ^ (1 << i % 8)));
    ASSERT_EQ(find(key), std::nullopt) << i;
    if (i % 50 == 0) {
      ASSERT_EQ(find_or_make(key, payload), payload) << i;
    } else {
      put(i, entry[i]);
    }
    if (i % 50 < 2) {
      ASSERT_EQ(find(key), payload) << i;
    }
  }
  EXPECT_EQ(made, 1 + static_cast<int>((entry.size() + 49) / 50));
}

TEST_F(DiskCaches, EmptyFilesAndOtherFormatsAreMadeAgain) {
  const CacheKey key = key_of("x");
  for (const std::string& bytes : {std::string(), std::string("text"), std::string(100, '\xff')}) {
    find_or_make(key, "payload");
    write(file_of(key), bytes);
    EXPECT_EQ(find(key), std::nullopt);
    EXPECT_EQ(find_or_make(key, "payload"), "payload");
  }
}

TEST_F(DiskCaches, LeastRecentlyUsedEntriesGo) {
  find_or_make(key_of("a"), random_bytes(1000));
  settings.max_bytes = 3 * static_cast<std::int64_t>(fs::file_size(file_of(key_of("a"))));
  for (const char* source : {"b", "c"}) find_or_make(key_of(source), random_bytes(1000));
  int hours = 4;
  for (const char* source : {"a", "b", "c"}) use_long_ago(source, hours--);
  EXPECT_EQ(find(key_of("a")), random_bytes(1000));  // and now it is the last used
  find_or_make(key_of("d"), random_bytes(1000));
  EXPECT_EQ(find(key_of("b")), std::nullopt);
  for (const char* source : {"a", "c", "d"}) EXPECT_EQ(find(key_of(source)), random_bytes(1000)) << source;
  // Times of files have a kernel's tick, a few milliseconds: within one tick either file may count as used last.
  for (const char* source : {"a", "c", "d"}) use_long_ago(source, 1);
  find_or_make(key_of("large"), random_bytes(2500));
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(find(key_of("large")), random_bytes(2500));
}

TEST_F(DiskCaches, WhatIsLargerThanTheBoundDrivesNothingOut) {
  find_or_make(key_of("a"), "small");
  settings.max_bytes = 1000;
  EXPECT_EQ(find_or_make(key_of("b"), random_bytes(1000)), random_bytes(1000));
  EXPECT_EQ(find(key_of("b")), std::nullopt);
  EXPECT_EQ(find(key_of("a")), "small");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(DiskCaches, OnlyOldTemporariesAndEntriesAreRemoved) {
  find_or_make(key_of("a"), "1");
  const std::string entry = file_of(key_of("a"));
  for (const char* name : {".77.1.tmp", ".77.2.tmp"}) write(entry + name, "unfinished");
  write(settings.directory / "notes.tmp", "the user's own");
  for (const fs::path& path : {fs::path(entry + ".77.1.tmp"), settings.directory / "notes.tmp"}) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  find_or_make(key_of("b"), "22");
  EXPECT_FALSE(fs::exists(entry + ".77.1.tmp"));
  EXPECT_TRUE(fs::exists(entry + ".77.2.tmp"));
  const auto bytes = static_cast<std::int64_t>(fs::file_size(entry) + fs::file_size(file_of(key_of("b"))));
  const Removed removed = clear_cache(settings.directory);
  EXPECT_EQ(removed.entries, 2);
  EXPECT_EQ(removed.bytes, bytes);
  EXPECT_EQ(entries(), 0);
  EXPECT_TRUE(fs::exists(settings.directory / "notes.tmp"));
  EXPECT_EQ(clear_cache(settings.directory / "nowhere").entries, 0);
}

TEST_F(DiskCaches, AreListedWithTheLastUsedFirst) {
  EXPECT_EQ(entries(), 0);
  find_or_make(key_of("a"), "1");
  find_or_make(key_of("b"), "22");
  use_long_ago("a", 3);
  fs::resize_file(file_of(key_of("b")), 30);
  const std::vector<ListedEntry> listed = list_cache(settings);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].bytes, 30);
  EXPECT_EQ(listed[0].fault, "is cut short, or longer than its parts");
  EXPECT_EQ(listed[0].label.op, "");
  const CacheLabel& label = listed[1].label;
  EXPECT_EQ(listed[1].name, entry_name(key_of("a").id()));
  EXPECT_EQ(label.step + "|" + label.op + "|" + label.config + "|" + label.arch + "|" + label.tool,
            "text|rwkv7|head 64x64|sm_90a|none 1.0");
  EXPECT_EQ(label.wkvc, wkvc_version());
  EXPECT_NEAR(static_cast<double>((std::chrono::system_clock::now() - listed[1].used) / std::chrono::seconds(1)),
              3 * 3600, 60);
}

class Environment : public CacheTest {
 protected:
  // With these variables and no others of the cache's.
  static CacheSettings settings_with(const std::vector<std::pair<const char*, const char*>>& variables) {
    std::deque<ScopedEnvironment> scoped;
    for (const std::string_view name : {"WKVC_CACHE_DIR", "WKVC_CACHE_BYTES", "XDG_CACHE_HOME", "HOME"}) {
      const auto given = std::ranges::find(variables, name, &std::pair<const char*, const char*>::first);
      scoped.emplace_back(name.data(), given == variables.end() ? std::nullopt : std::optional(given->second));
    }
    return cache_settings_from_environment();
  }
};

TEST_F(Environment, NamesTheDirectory) {
  EXPECT_EQ(settings_with({{"WKVC_CACHE_DIR", "/a"}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}).directory, "/a");
  EXPECT_EQ(settings_with({{"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}).directory, "/b/wkvc");
  EXPECT_EQ(settings_with({{"XDG_CACHE_HOME", "b"}, {"HOME", "/c"}}).directory, "/c/.cache/wkvc");
  EXPECT_EQ(settings_with({{"XDG_CACHE_HOME", ""}, {"HOME", "/c"}}).directory, "/c/.cache/wkvc");
  EXPECT_THAT(warnings, IsEmpty());
}

// A shell replaces ~, but a container's file of variables does not.
TEST_F(Environment, NamesADirectoryInAHome) {
  EXPECT_EQ(settings_with({{"WKVC_CACHE_DIR", "~/x"}, {"HOME", "/c"}}).directory, "/c/x");
  EXPECT_THAT(warnings, IsEmpty());
  const CacheSettings off = settings_with({{"WKVC_CACHE_DIR", "~other/x"}, {"HOME", "/c"}});
  EXPECT_EQ(off.directory, "");
  EXPECT_THAT(off.why_off, HasSubstr("WKVC_CACHE_DIR is ~other/x"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("~other/x")));
}

TEST_F(Environment, NamesTheSameDirectoryWhereverTheProgramGoes) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(parent.path());
  const auto first = settings_with({{"WKVC_CACHE_DIR", "relative"}}).directory;
  std::filesystem::current_path("/");
  EXPECT_EQ(settings_with({{"WKVC_CACHE_DIR", "relative"}}).directory, first);
  EXPECT_EQ(first, std::filesystem::canonical(parent.path()) / "relative");
  std::filesystem::current_path(before);
}

TEST_F(Environment, TurnsTheCacheOff) {
  const CacheSettings off = settings_with({{"WKVC_CACHE_DIR", ""}, {"HOME", "/c"}});
  EXPECT_EQ(off.directory, "");
  EXPECT_THAT(off.why_off, HasSubstr("WKVC_CACHE_DIR"));
  const CacheSettings none = settings_with({{"WKVC_CACHE_BYTES", "0"}, {"HOME", "/c"}});
  EXPECT_EQ(none.directory, "");
  EXPECT_THAT(none.why_off, HasSubstr("WKVC_CACHE_BYTES"));
  EXPECT_THAT(warnings, IsEmpty());
  settings = off;
  EXPECT_EQ(find_or_make(key_of("x"), "payload"), "payload");
  EXPECT_EQ(find(key_of("x")), std::nullopt);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(settings_with({}).directory, "");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("none of WKVC_CACHE_DIR, XDG_CACHE_HOME and HOME")));
}

TEST_F(Environment, BoundsTheSize) {
  EXPECT_EQ(settings_with({}).max_bytes, std::int64_t{512} << 20);
  EXPECT_EQ(settings_with({{"WKVC_CACHE_BYTES", "12345"}}).max_bytes, 12345);
  warnings.clear();
  for (const char* wrong : {"", "1GB", "-1", "1e9", " 1", "99999999999999999999"}) {
    EXPECT_EQ(settings_with({{"WKVC_CACHE_BYTES", wrong}, {"HOME", "/c"}}).max_bytes, std::int64_t{512} << 20) << wrong;
  }
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("whole number")));
}

}  // namespace
}  // namespace wkvc
