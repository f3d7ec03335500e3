#include "tools/signals.h"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/base/temporary_directory.h"

namespace wkvc {
namespace {

// All that a handler of signals may touch.
struct Received {
  std::atomic<pid_t> process = 0;  // that is watched
  std::atomic<int> signal = 0;
  std::atomic<bool> watched = false;
  sem_t posted{};  // after a change of either
};

Received& received() {
  static auto* const one = [] {
    auto* const made = new Received;  // never destroyed: a handler may run as the process ends
    ::sem_init(&made->posted, 0, 0);
    return made;
  }();
  return *one;
}

static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
  const int error = errno;
  if (received().process != ::getpid()) {  // a forked one, which nobody watches
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // for when this function has returned
    return;
  }
  received().signal = signal;
  ::sem_post(&received().posted);
  errno = error;
}

// Waits for a signal, which ends the process, as long as anybody wants that.
void wait_and_end() {
  while (received().watched) {
    ::sem_wait(&received().posted);
    const int signal = received().signal;
    if (signal == 0) continue;
    leave_nothing_behind();
    ::_exit(128 + signal);
  }
}

// The handlers, installed as long as anybody wants them.
class Handlers {
 public:
  void want() {
    const std::lock_guard lock(mutex_);
    if (users_++ > 0) return;
    received().process = ::getpid();
    received().watched = true;
    try {
      watcher_ = std::thread(wait_and_end);
    } catch (const std::system_error&) {
      return;  // no thread to be had: signals end the process as ever
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) install(signal);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0 || !watcher_.joinable()) return;
    for (const auto& [signal, action] : before_) restore(signal, action);
    before_.clear();
    received().watched = false;
    ::sem_post(&received().posted);
    watcher_.join();
    // One that came as the watcher left.
    if (const int signal = received().signal.exchange(0); signal != 0) ::raise(signal);
  }

 private:
  // Only in place of the default, which ends the process.
  void install(int signal) {
    struct sigaction current{};
    if (::sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
    struct sigaction noting{};
    noting.sa_handler = note;
    noting.sa_flags = SA_RESTART;
    if (::sigaction(signal, &noting, nullptr) == 0) before_[signal] = current;
  }

  // Unless the program has chosen another handler meanwhile.
  static void restore(int signal, const struct sigaction& before) {
    struct sigaction current{};
    if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == note)
      ::sigaction(signal, &before, nullptr);
  }

  std::mutex mutex_;
  int users_ = 0;
  std::thread watcher_;
  std::map<int, struct sigaction> before_;
};

Handlers& handlers() {
  static auto* const one = new Handlers;  // never destroyed: the process may end while a command runs
  return *one;
}

}  // namespace

CleanUpOnSignals::CleanUpOnSignals() { handlers().want(); }

CleanUpOnSignals::~CleanUpOnSignals() { handlers().release(); }

}  // namespace wkvc
