// wkvc cache: list, clear and path.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/cache/disk_cache.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

namespace fs = std::filesystem;

class Cache : public CommandTest {
 protected:
  fs::path caches() const { return directory().parent_path() / "caches"; }
  Outcome cache(const std::string& what, const std::string& where) {
    return wkvc({"cache", what}, [&] { setenv("WKVC_CACHE_DIR", where.c_str(), 1); });
  }
  Outcome cache(const std::string& what) { return cache(what, caches()); }
  void store(const std::string& op, const std::string& config, std::size_t bytes) const {
    const CacheKey key({.step = "cubin", .op = op, .config = config, .arch = "sm_90a", .tool = "NVRTC 13.0"});
    DiskCache({.directory = caches(), .why_off = {}}).store(key, std::string(bytes, 'x'));
  }
  static std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(Cache, TellsItsPath) {
  const Outcome outcome = cache("path");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, caches().string() + "\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(fs::exists(caches()));
}

TEST_F(Cache, SaysThatItIsOff) {
  for (const char* what : {"path", "list", "clear"}) {
    const Outcome outcome = cache(what, "");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "wkvc: the cache is off: WKVC_CACHE_DIR is empty\n");
  }
}

TEST_F(Cache, IsListedAndCleared) {
  EXPECT_EQ(cache("list").out, "");
  EXPECT_EQ(cache("clear").out, "removed 0 entries, 0 bytes\n");
  store("rwkv7", "head 64x64 chunk 16", 5000);
  store("rwkv6", "a \x1b[31m colour", 1000);
  std::string listed = cache("list").out;
  EXPECT_EQ(lines_of(listed), 3U) << listed;
  for (const char* part : {"configuration", "cubin", "rwkv7", "head 64x64 chunk 16", "sm_90a", "NVRTC 13.0"}) {
    EXPECT_NE(listed.find(part), std::string::npos) << part << " is not in " << listed;
  }
  EXPECT_EQ(listed.find('\x1b'), std::string::npos);
  for (const auto& file : fs::directory_iterator(caches())) {
    if (file.file_size() > 5000) fs::resize_file(file.path(), 4096);
  }
  listed = cache("list").out;
  EXPECT_EQ(lines_of(listed), 3U) << listed;
  EXPECT_NE(listed.find("corrupt: "), std::string::npos) << listed;
  EXPECT_EQ(listed.find("rwkv7"), std::string::npos) << listed;
  const Outcome cleared = cache("clear");
  EXPECT_EQ(cleared.out.substr(0, 18), "removed 2 entries,") << cleared.out;
  EXPECT_EQ(cache("list").out, "");
}

// As the library stores it, with what nobody asked for.
TEST_F(Cache, ListsWhatIsSetInAConfiguration) {
  store("",
        "head 0x0 io  mma f32 state  chunk 0 sram 0 arch sm_90a blocks 0,0 segments 0 pass both save every 0 saved  "
        "gradients ",
        100);
  store("",
        "head 64x128 io bf16 mma  state  chunk 16 sram 0 arch sm_90a blocks 2,1 segments 8 pass both save every 32 "
        "saved f16 gradients r,w",
        100);
  store("", "head 64x64 gradients " + std::string(500, 'x'), 100);
  const std::string listed = cache("list").out;
  EXPECT_NE(listed.find("  mma f32 pass both  "), std::string::npos) << listed;
  const std::string whole =
      "  head 64x128 io bf16 chunk 16 blocks 2,1 segments 8 pass both save every 32 saved f16 gradients r,w  ";
  EXPECT_NE(listed.find(whole), std::string::npos) << listed;
  EXPECT_NE(listed.find("xxx...  "), std::string::npos) << listed;
  EXPECT_EQ(listed.find(std::string(80, 'x')), std::string::npos) << listed;
}

TEST_F(Cache, ThatOthersCanEnterIsRefused) {
  fs::create_directory(caches());
  ASSERT_EQ(chmod(caches().c_str(), 0755), 0);
  for (const char* what : {"list", "clear"}) {
    const Outcome outcome = cache(what);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("chmod 700"), std::string::npos) << outcome.err;
  }
}

TEST_F(Cache, TakesOneOfThree) {
  expect_mistake({"cache"}, "wkvc cache --help");
  expect_mistake({"cache", "remove"}, "cache remove: not known here; expected list, clear or path");
}

}  // namespace
}  // namespace wkvc::test
