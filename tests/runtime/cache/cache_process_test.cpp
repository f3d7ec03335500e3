// The cache among processes: many that want the same, and some that are killed.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "tests/runtime/cache/cache_test.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

class CacheProcesses : public CacheTest {
 protected:
  // Starts a process that does `action` and ends with what it returns.
  static pid_t start(const std::function<int()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(300);
      ::_exit(action());
    }
    EXPECT_GT(child, 0);
    return child;
  }
  static int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // A process that says so once it makes the entry, and never ends by itself.
  pid_t start_endless_maker(const CacheKey& key) {
    const pid_t child = start([&] {
      DiskCache(settings).find_or_make(key, [&]() -> std::string {
        note("making");
        while (true) ::pause();
      });
      return 1;
    });
    while (notes().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return child;
  }

  // One line more in a file that all processes share, and how many there are.
  void note(const std::string& text) const {
    const int file = ::open(notes_file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string line = text + "\n";
    if (::write(file, line.data(), line.size()) < 0) ::_exit(9);
    ::close(file);
  }
  std::string notes() const {
    std::ifstream stream(notes_file());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  fs::path notes_file() const { return parent.path() / "notes"; }
};

TEST_F(CacheProcesses, ManyMakeAnEntryOnce) {
  constexpr std::size_t count = 16;
  const CacheKey key = key_of("x");
  const std::string payload = random_bytes(200'000);
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe2(gate.data(), O_CLOEXEC), 0);
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < count; ++i) {
    children.push_back(start([&] {
      ::close(gate[1]);
      char nothing = 0;
      if (::read(gate[0], &nothing, 1) != 0) return 2;  // until all are there
      const std::string found = DiskCache(settings).find_or_make(key, [&] {
        note("made");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return payload;
      });
      return found == payload && warnings.empty() ? 0 : 1;
    }));
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(notes(), "made\n");
  EXPECT_EQ(find(key), payload);
}

TEST_F(CacheProcesses, OneThatDiesLetsTheNextGoOn) {
  const pid_t child = start_endless_maker(key_of("x"));
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(child, SIGKILL);
  });
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(find_or_make(key_of("x"), "payload"), "payload");
  EXPECT_LT(std::chrono::steady_clock::now() - before, settings.patience / 2);
  killer.join();
  EXPECT_EQ(status_of(child), -1);
}

TEST_F(CacheProcesses, OneThatNeverEndsIsNotWaitedForForever) {
  settings.patience = std::chrono::milliseconds(50);
  const pid_t child = start_endless_maker(key_of("x"));
  EXPECT_EQ(find_or_make(key_of("x"), "payload"), "payload");
  EXPECT_EQ(find_or_make(key_of("another"), "at once"), "at once");
  ::kill(child, SIGKILL);
  EXPECT_EQ(status_of(child), -1);
}

// A process that was forked while the lock was held does not keep it.
TEST_F(CacheProcesses, ForkedOnesHoldNoLock) {
  pid_t child = 0;
  DiskCache(settings).find_or_make(key_of("x"), [&] {
    child = start([] { return ::pause(); });
    return std::string("payload");
  });
  fs::remove(file_of(key_of("x")));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(find_or_make(key_of("x"), "payload"), "payload");
  EXPECT_LT(std::chrono::steady_clock::now() - before, settings.patience / 2);
  ::kill(child, SIGKILL);
  EXPECT_EQ(status_of(child), -1);
}

enum class End { killed, by_itself, not_permitted };

// Kills the process as it enters or leaves its n-th system call from where it stops itself.
End kill_at(pid_t child, int n) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return End::not_permitted;
  for (int i = 0; i < n; ++i) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0 || ::waitpid(child, &status, 0) != child) {
      ADD_FAILURE() << "the process cannot be traced: " << errno;
    }
    if (WIFEXITED(status)) return End::by_itself;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return End::killed;
}

// What has to hold wherever the process that stores `payload` is killed.
class KilledWriters : public CacheProcesses {
 protected:
  void kill_everywhere(const std::function<void()>& prepare) {
    std::set<bool> found_any, left_temporaries;
    End end = End::killed;
    for (int n = 1; end == End::killed; ++n) {
      SCOPED_TRACE(n);
      fs::remove_all(settings.directory);
      prepare();
      end = kill_at(start_traced(), n);
      if (end == End::not_permitted) GTEST_SKIP() << "processes cannot be traced here (ptrace)";
      left_temporaries.insert(has_temporary());
      const std::optional<std::string> found = find(key);
      found_any.insert(found.has_value());
      ASSERT_EQ(found.value_or(payload), payload);
      ASSERT_EQ(find_or_make(key, payload), payload);
      ASSERT_EQ(find(key), payload);
    }
    // Some were killed before, some while they wrote and some after that.
    EXPECT_THAT(found_any, ::testing::ElementsAre(false, true));
    EXPECT_THAT(left_temporaries, ::testing::ElementsAre(false, true));
  }

  const CacheKey key = key_of("x");
  const std::string payload = random_bytes(50'000);

 private:
  pid_t start_traced() {
    return start([&] {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 2;
      ::raise(SIGSTOP);
      return DiskCache(settings).find_or_make(key, [&] { return payload; }) == payload ? 0 : 1;
    });
  }
  bool has_temporary() const {
    if (!fs::exists(settings.directory)) return false;
    return std::ranges::any_of(fs::directory_iterator(settings.directory),
                               [](const auto& file) { return is_temporary_name(file.path().filename().string()); });
  }
};

TEST_F(KilledWriters, OfANewDirectory) {
  kill_everywhere([] {});
}

TEST_F(KilledWriters, InPlaceOfADamagedEntry) {
  kill_everywhere([&] {
    find_or_make(key, payload);
    fs::resize_file(file_of(key), 4096);
  });
}

}  // namespace
}  // namespace wkvc
