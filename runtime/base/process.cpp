#include "runtime/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <string_view>

#include "runtime/base/descriptor.h"
#include "runtime/base/reason.h"
#include "runtime/error.h"

extern char** environ;

namespace wkvc {
namespace {

// The output of a program, in memory: a pipe would stay open as long as any process that was forked meanwhile.
class Output {
 public:
  Output() : file_(::memfd_create("output", MFD_CLOEXEC)) {
    const int error = errno;
    if (!file_) user_error("cannot keep the output of a program: {}; {}", reason(error), remedy(error, "free memory"));
  }

  int file() const { return file_.get(); }
  std::string text() const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t count = ::pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  Descriptor file_;
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

// In a program that is started no signal is blocked, whatever its caller blocks: Ctrl-C has to reach a compiler. A
// compiler also has to hear of its own children, and of files beyond a limit.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int signal : {SIGCHLD, SIGXFSZ}) sigaddset(&usual, signal);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &usual);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// This process's environment with the C locale: what programs say is read.
std::vector<char*> plain_environment() {
  static char locale[] = "LC_ALL=C";
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("LC_ALL=")) variables.push_back(*variable);
  variables.insert(variables.end(), {locale, nullptr});
  return variables;
}

pid_t spawn(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = plain_environment();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  const SpawnAttributes attributes;
  const std::lock_guard lock(running().mutex);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, attributes.get(), argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw NotStarted(arguments[0], error);
  running().children.insert(child);
  return child;
}

// How the program ended; si_pid is 0 where somebody else was told. Its number is free for another one only after it
// was taken off the list.
siginfo_t wait_for(pid_t child) {
  siginfo_t ended{};
  int result = 0;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  if (result != 0) ended = {};
  const std::lock_guard lock(running().mutex);
  running().children.erase(child);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

// The signal that a status names, or 0; a shell's status is 128 more than the signal that ended what it had started.
int signal_of(const siginfo_t& ended) {
  if (ended.si_code != CLD_EXITED) return ended.si_status;
  return ended.si_status > 128 && ended.si_status < 128 + SIGRTMIN ? ended.si_status - 128 : 0;
}

}  // namespace

NotStarted::NotStarted(const std::string& program, int error)
    : UserError(fmt::format("cannot start {}: {}; {}", program, reason(error),
                            remedy(error, "name a program that runs here"))),
      error_(error) {}

bool NotStarted::is_missing() const { return error_ == ENOENT || error_ == EACCES || error_ == ENOTDIR; }

ProcessResult run_process(const std::vector<std::string>& arguments) {
  const Output output;
  const siginfo_t ended = wait_for(spawn(arguments, output.file()));
  ProcessResult result{.output = output.text()};
  result.unknown = ended.si_pid == 0;
  if (result.unknown) return result;
  result.succeeded = ended.si_code == CLD_EXITED && ended.si_status == 0;
  result.signal = signal_of(ended);
  if (!result.succeeded) {
    result.output += fmt::format("{} {} {}\n", arguments[0],
                                 ended.si_code == CLD_EXITED ? "exited with" : "was ended by signal", ended.si_status);
  }
  return result;
}

void end_processes() {
  running().mutex.lock();  // for good
  for (const pid_t child : running().children) ::kill(child, SIGTERM);
}

}  // namespace wkvc
