#include "tests/cli/command.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace wkvc::test {
namespace {

void redirect(int descriptor, const char* path, int flags) {
  const int file = open(path, flags | O_CLOEXEC, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(127);
}

}  // namespace

Outcome CommandTest::wkvc(const std::vector<std::string>& arguments, const Prepare& prepare) {
  return finish(start(WKVC_COMMAND, arguments, prepare));
}

pid_t CommandTest::start(const std::string& program, const std::vector<std::string>& arguments,
                         const Prepare& prepare) {
  const std::string out = home_.path() / "stdout", err = home_.path() / "stderr";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string work = directory();
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(work.c_str()) != 0) _exit(127);
    redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
    redirect(STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    redirect(STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    alarm(300);
    if (prepare) prepare();
    execv(argv[0], argv.data());
    _exit(127);
  }
  return child;
}

Outcome CommandTest::finish(pid_t child) {
  const std::string out = home_.path() / "stdout", err = home_.path() / "stderr";
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) ADD_FAILURE() << "wkvc cannot be started";
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents_of(out), contents_of(err)};
}

std::string CommandTest::file(const std::string& name, const std::string& contents) {
  const std::filesystem::path path = home_.path() / name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

std::string CommandTest::contents_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string CommandTest::edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "'" << from << "' is not in the text";
    return text;
  }
  return text.replace(at, from.size(), to);
}

void CommandTest::expect_mistake(const std::vector<std::string>& arguments, const std::string& part) {
  SCOPED_TRACE(fmt::format("wkvc {}", fmt::join(arguments, " ")));
  const Outcome outcome = wkvc(arguments);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("wkvc: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "  does not contain '" << part << "'";
  EXPECT_EQ(outcome.err.find("wkvc: ", 1), std::string::npos) << "more than one message: " << outcome.err;
  EXPECT_FALSE(wrote_something());
}

}  // namespace wkvc::test
