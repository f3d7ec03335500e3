// What the tests of the cache share: a directory of their own, the warnings it brings up, keys and payloads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/cache/cache_entry.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/warnings.h"

namespace wkvc {

inline CacheKey key_of(const std::string& source) {
  CacheKey key({.step = "text", .op = "rwkv7", .config = "head 64x64", .arch = "sm_90a", .tool = "none 1.0"});
  key.add("source", source);
  return key;
}

inline std::string random_bytes(std::size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    settings.directory = parent.path() / "caches" / "wkvc";
    on_warning([this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      warnings.emplace_back(text);
    });
  }
  ~CacheTest() override { on_warning({}); }

  // As a process that has just been started sees it.
  std::optional<std::string> find(const CacheKey& key) const { return DiskCache(settings).find(key); }
  std::string find_or_make(const CacheKey& key, const std::string& payload) {
    return DiskCache(settings).find_or_make(key, [&] {
      ++made;
      return payload;
    });
  }
  std::filesystem::path file_of(const CacheKey& key) const { return settings.directory / entry_name(key.id()); }

  // Everything works, but nothing is kept, and a single warning says `part`.
  void expect_memory_only(const std::string& part) {
    const CacheKey key = key_of("memory only");
    const int before = made;
    DiskCache cache(settings);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(cache.find_or_make(key,
                                   [&] {
                                     ++made;
                                     return std::string("payload");
                                   }),
                "payload");
    }
    EXPECT_EQ(made, before + 1);
    EXPECT_EQ(find_or_make(key, "payload"), "payload");
    EXPECT_EQ(made, before + 2);
    EXPECT_THAT(warnings, ::testing::ElementsAre(::testing::HasSubstr(part)));
  }

  TemporaryDirectory parent;
  CacheSettings settings;
  std::vector<std::string> warnings;
  int made = 0;

 private:
  std::mutex mutex_;
};

}  // namespace wkvc
