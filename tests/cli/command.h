// Runs the wkvc command as a user does: in an empty directory, with nothing on its standard input.
#pragma once

#include <gtest/gtest.h>

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/temporary_directory.h"

namespace wkvc::test {

inline const std::filesystem::path source_directory = WKVC_TEST_SOURCES;  // tests/
inline const std::string activations = source_directory / "data" / "rwkv7_layer1_head0.safetensors";
inline const std::string naive_kernel = source_directory / "cli" / "naive_rwkv7.cu";

struct Outcome {
  int status = -1;  // of exit, or -1 when a signal ended it
  std::string out, err;
};

class CommandTest : public testing::Test {
 protected:
  using Prepare = std::function<void()>;  // run in the new process before the program starts

  // What the command reads may lie beside `directory_`, which stays for what it writes.
  Outcome wkvc(const std::vector<std::string>& arguments, const Prepare& prepare = {});

  // The same in two steps, for any program. One that hangs is ended after five minutes.
  pid_t start(const std::string& program, const std::vector<std::string>& arguments, const Prepare& prepare = {});
  Outcome finish(pid_t child);

  // A file outside the directory the command runs in.
  std::string file(const std::string& name, const std::string& contents);
  static std::string contents_of(const std::filesystem::path& path);
  // `text` with the first `from` replaced, which has to be there.
  static std::string edited(std::string text, const std::string& from, const std::string& to);

  std::filesystem::path directory() const { return home_.path() / "work"; }
  bool wrote_something() const { return !std::filesystem::is_empty(directory()); }

  // The user's mistake: exit 2, one message that says `part`, no other output, nothing written.
  void expect_mistake(const std::vector<std::string>& arguments, const std::string& part);

 private:
  void SetUp() override { std::filesystem::create_directories(directory()); }

  TemporaryDirectory home_;
};

}  // namespace wkvc::test
