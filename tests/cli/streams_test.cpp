// Pipes and the standard input and output in place of files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "runtime/tensor/safetensors.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

class Streams : public CommandTest {
 protected:
  // The file comes through the standard input.
  Outcome fed(const std::string& path, const std::vector<std::string>& arguments) {
    return wkvc(arguments, [path] {
      const int descriptor = open(path.c_str(), O_RDONLY);
      if (descriptor < 0 || dup2(descriptor, STDIN_FILENO) < 0) _exit(127);
    });
  }

  std::string fifo(const std::string& name) {
    const std::string path = directory().parent_path() / name;
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  std::string rec() { return wkvc({"emit", "rwkv7", "--stage", "rec"}).out; }
};

TEST_F(Streams, TextsComeFromTheStandardInput) {
  const std::string text = rec(), path = file("rec.mlir", text);
  const Outcome outcome = fed(path, {"emit", "--source", "-", "--stage", "rec"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, text);
  EXPECT_EQ(fed(path, {"emit", "--source", "/dev/stdin", "--stage", "rec", "-o", "-"}).out, text);
  const Outcome wrong =
      fed(file("wrong.mlir", edited(text, "rec.exp", "rec.cos")), {"emit", "--source", "-", "--stage", "cuda"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(wrong.err.starts_with("wkvc: <stdin>:")) << wrong.err;
  expect_mistake({"emit", "--source", "-", "--stage", "cuda"}, "<stdin>: this text is none of wkvc's stages");
  EXPECT_FALSE(wrote_something());
}

TEST_F(Streams, TextsComeThroughPipes) {
  const std::string text = rec(), path = fifo("text");
  std::thread writer([&] { std::ofstream(path) << text; });
  const Outcome outcome = wkvc({"emit", "--source", path, "--stage", "rec"});
  writer.join();
  EXPECT_EQ(outcome.out, text) << outcome.err;
}

// What is compared with a file needs the file's tensors twice.
TEST_F(Streams, TensorsComeThroughPipes) {
  const std::vector<std::string> check{"check", "--source", naive_kernel, "--device", "cpu", "--input"};
  const auto with = [&](const std::string& input) {
    std::vector<std::string> arguments = check;
    arguments.push_back(input);
    return arguments;
  };
  const std::string expected = wkvc(with(activations)).out;
  EXPECT_NE(expected.find("o (file)"), std::string::npos) << expected;
  EXPECT_EQ(fed(activations, with("-")).out, expected);
  const std::string path = fifo("tensors");
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << contents_of(activations); });
  const Outcome piped = wkvc(with(path));
  writer.join();
  EXPECT_EQ(piped.out, expected) << piped.err;
  const Outcome short_input = fed(file("short", contents_of(activations).substr(0, 5000)), with("-"));
  EXPECT_EQ(short_input.status, 2);
  EXPECT_NE(short_input.err.find("<stdin>: tensor \"da\" has data_offsets"), std::string::npos) << short_input.err;
}

TEST_F(Streams, ResultsGoToTheStandardOutput) {
  const std::vector<std::string> run{"run", "--source", naive_kernel, "--device", "cpu", "--input", activations};
  const auto to = [&](const std::string& output) {
    std::vector<std::string> arguments = run;
    arguments.insert(arguments.end(), {"--output", output});
    return wkvc(arguments);
  };
  const std::string path = directory().parent_path() / "out.safetensors";
  const Outcome written = to(path), printed = to("-");
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_EQ(printed.out, contents_of(path));
  EXPECT_EQ(printed.err, written.out);  // the report is beside
  EXPECT_EQ(to("/dev/stdout").out, printed.out);
  EXPECT_TRUE(std::filesystem::is_symlink("/dev/stdout"));
  EXPECT_EQ(to("/dev/null").out, written.out);
  EXPECT_FALSE(wrote_something());
}

TEST_F(Streams, ResultsGoThroughPipes) {
  const std::string path = fifo("text");
  std::string read;
  std::thread reader([&] { read = contents_of(path); });
  const Outcome outcome = wkvc({"emit", "rwkv7", "--stage", "rec", "-o", path});
  reader.join();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read, rec());
}

TEST_F(Streams, AreRefusedWhereAFileIsNeeded) {
  expect_mistake({"run", "--source", "-", "--input", "-", "--output", "out"}, "the standard input can be read once");
  expect_mistake({"check", "--source", "-", "--input", "-"}, "the standard input can be read once");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "-o", "-"}, "--output -: a lockfile is read, changed");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "--report", "-"}, "name a file");
  expect_mistake({"tune", "--revalidate", "-"}, "--revalidate -: a lockfile is read and written again");
  expect_mistake({"pack", "rwkv7", "--name", "kernels", "-o", "-"}, "--output -: several files are written");
  expect_mistake({"precompile", "rwkv7", "-o", "-"}, "--output -: several files are written");
}

}  // namespace
}  // namespace wkvc::test
