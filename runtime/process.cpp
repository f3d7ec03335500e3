#include "runtime/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "runtime/error.h"

extern char** environ;

namespace wkvc {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

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
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) user_error("cannot start {}: {}", arguments[0], reason(error));
  return child;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments) {
  Pipe pipe;
  const pid_t child = spawn(arguments, pipe.writer());
  pipe.close_writer();
  ProcessResult result;
  result.output = pipe.read_all();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) internal_error("cannot wait for {}: {}", arguments[0], reason(errno));
  }
  result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) result.output += fmt::format("{} was ended by signal {}\n", arguments[0], WTERMSIG(status));
  if (WIFEXITED(status) && !result.succeeded) {
    result.output += fmt::format("{} exited with {}\n", arguments[0], WEXITSTATUS(status));
  }
  return result;
}

}  // namespace wkvc
