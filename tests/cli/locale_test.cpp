// The command inside a program whose locale has a decimal comma and groups digits: numbers stay as they are.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <iterator>
#include <locale>
#include <regex>

#include "tests/cli/command.h"
#include "tools/command.h"

namespace wkvc::test {
namespace {

constexpr const char* comma = "de_DE.UTF-8";

void redirect(int descriptor, const std::filesystem::path& path) {
  ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
}

class InALocale : public CommandTest {
 protected:
  // Makes the locale where the system has none; false where that cannot be done.
  bool has_comma() const {
    const std::string make = "localedef -i de_DE -f UTF-8 " + (locales_.path() / comma).string() + " > /dev/null 2>&1";
    return std::setlocale(LC_ALL, comma) != nullptr ? std::setlocale(LC_ALL, "C") != nullptr
                                                    : std::system(make.c_str()) == 0;
  }

  // Calls the command as a program does that has set this locale, in a process of its own.
  Outcome called(const char* locale, std::vector<std::string> arguments) const {
    const auto out = locales_.path() / "out", err = locales_.path() / "err";
    const pid_t child = ::fork();
    if (child == 0) {
      redirect(STDOUT_FILENO, out);
      redirect(STDERR_FILENO, err);
      std::filesystem::current_path(directory());
      ::setenv("LOCPATH", locales_.path().c_str(), 1);
      ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
      if (std::setlocale(LC_ALL, locale) == nullptr) ::_exit(100);
      std::locale::global(std::locale(locale));
      arguments.insert(arguments.begin(), "wkvc");
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      const int status = command_main(static_cast<int>(arguments.size()), argv.data());
      std::fflush(nullptr);
      ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents_of(out), contents_of(err)};
  }

 private:
  TemporaryDirectory locales_;
};

TEST_F(InALocale, CommandsReadAndWriteTheSameNumbers) {
  if (!has_comma()) GTEST_SKIP() << "localedef cannot make the locale " << comma;
  const std::string ranged = file("ranged.mlir", wkvc({"emit", "rwkv7_logw", "--stage", "rec"}).out);
  const std::string chunk = file("chunk.mlir", wkvc({"emit", "rwkv7", "--stage", "chunk", "--pass", "both"}).out);
  const std::vector<std::vector<std::string>> commands{
      {"emit", "rwkv7", "--stage", "rec"},
      {"emit", "rwkv7", "--stage", "warp", "--pass", "both", "--scales", "guarded"},
      {"emit", "rwkv7", "--stage", "cuda", "--pass", "both", "--sram", "226.5KiB"},
      {"emit", "rwkv7", "--stage", "cuda", "--pass", "both", "--save-every", "1024"},
      {"emit", "--source", ranged, "--stage", "cuda"},
      {"emit", "--source", chunk, "--stage", "cuda"},
      {"explain", "rwkv7", "--schedule"},
      {"fit", "rwkv7", "--heads", "16", "--json"},
      {"check", "rwkv7", "--device", "cpu", "--head", "16", "--shape", "1,1003+20,2", "--json"},
      {"bench", "rwkv7", "--shape", "1,64"},
      {"tune", "rwkv7", "--shapes", "1,64,1", "--budget", "0,5s"},
      {"tune", "rwkv7", "--shapes", "1,64,1", "--saved-bytes", "0.5x"},
  };
  for (const auto& arguments : commands) {
    const Outcome usual = called("C", arguments), other = called(comma, arguments);
    EXPECT_EQ(other.status, usual.status) << arguments[0] << " " << arguments[1];
    EXPECT_EQ(other.out, usual.out) << arguments[0] << " " << arguments[1];
    EXPECT_EQ(other.err, usual.err) << arguments[0] << " " << arguments[1];
  }
}

TEST_F(InALocale, TuneTakesFractionsOfASecond) {
  if (!has_comma()) GTEST_SKIP() << "localedef cannot make the locale " << comma;
  std::vector<std::ptrdiff_t> commas;  // behind zeros, in the report
  for (const char* locale : {"C", comma}) {
    const Outcome outcome =
        called(locale, {"tune", "rwkv7", "--shapes", "1,64,1", "--head", "16", "--chunk", "16", "--blocks", "1",
                        "--budget", "0.001s", "--saved-bytes", "100.5", "--report", "report.html"});
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("nothing was measured"), std::string::npos) << outcome.err;
    const std::string report = contents_of(directory() / "report.html");
    const std::regex zero("0,");
    commas.push_back(std::distance(std::sregex_iterator(report.begin(), report.end(), zero), std::sregex_iterator()));
  }
  EXPECT_EQ(commas[0], commas[1]);
}

}  // namespace
}  // namespace wkvc::test
