#include "runtime/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <set>

#include "runtime/base/reason.h"
#include "runtime/error.h"

extern char** environ;

namespace wkvc {
namespace {

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) user_error("cannot make a pipe: {}", reason(errno));
  }
  ~Pipe() {
    close_writer();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t count = ::read(ends_[0], buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Programs that have been started and not yet waited for.
struct Running {
  std::mutex mutex;
  std::set<pid_t> children;
};

Running& running() {
  static auto* const all = new Running;  // never destroyed: a thread may be in end_processes as the process ends
  return *all;
}

// No signal is blocked in a program that is started, whatever its caller blocks: Ctrl-C has to reach a compiler.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

pid_t spawn(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  const SpawnAttributes attributes;
  const std::lock_guard lock(running().mutex);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, attributes.get(), argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) user_error("cannot start {}: {}", arguments[0], reason(error));
  running().children.insert(child);
  return child;
}

// How the program ended. Its number is free for another one only after it was taken off the list.
int wait_for(pid_t child, const std::string& name) {
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) internal_error("cannot wait for {}: {}", name, reason(errno));
  }
  const std::lock_guard lock(running().mutex);
  running().children.erase(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) internal_error("cannot wait for {}: {}", name, reason(errno));
  }
  return status;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments) {
  Pipe pipe;
  const pid_t child = spawn(arguments, pipe.writer());
  pipe.close_writer();
  ProcessResult result;
  result.output = pipe.read_all();
  const int status = wait_for(child, arguments[0]);
  result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) result.output += fmt::format("{} was ended by signal {}\n", arguments[0], WTERMSIG(status));
  if (WIFEXITED(status) && !result.succeeded) {
    result.output += fmt::format("{} exited with {}\n", arguments[0], WEXITSTATUS(status));
  }
  return result;
}

void end_processes() {
  running().mutex.lock();  // for good
  for (const pid_t child : running().children) ::kill(child, SIGTERM);
}

}  // namespace wkvc
