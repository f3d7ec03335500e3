// Which NVRTC and which driver a process opens, and what it says of those that it cannot use: with libraries that only
// speak of themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/process.h"
#include "runtime/base/temporary_directory.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LibrarySearch : public ::testing::Test {
 protected:
  fs::path path(const fs::path& name) const { return directory_.path() / name; }

  void write(const fs::path& name, std::string_view text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  void copy(const char* library, const fs::path& name) const {
    fs::create_directories(path(name).parent_path());
    fs::copy_file(library, path(name), fs::copy_options::overwrite_existing);
  }
  // An NVRTC that is whole; `says` are its version and architectures.
  void add_nvrtc(const fs::path& name, const std::string& release, const std::string& says) const {
    copy(WKVC_FAKE_NVRTC, name);
    write(name.parent_path() / "says", says);
    copy(WKVC_FAKE_NVRTC, name.parent_path() / ("libnvrtc-builtins.so." + release));
  }

  // LD_LIBRARY_PATH with an older CUDA, a text and another library, under the three names that the loader looks for.
  std::string unsuitable_names() const {
    add_nvrtc("loader/libnvrtc.so.13", "11.8", "11 8 80 90");
    write("loader/libnvrtc.so.12", "an article on compilers that is longer than the header of an ELF file is, by far");
    copy(WKVC_FAKE_DRIVER, "loader/libnvrtc.so");
    return given("LD_LIBRARY_PATH", "loader");
  }

  // A process with nothing in its environment but `variables`, in an empty directory.
  std::string run(const std::vector<std::string>& variables, const std::vector<std::string>& arguments = {"nvrtc"},
                  const fs::path& program = WKVC_LIBRARY_PROCESS) const {
    const fs::path here = path("empty");
    fs::create_directories(here);
    std::vector<std::string> words{"env", "-i", "-C", here.string()};
    words.insert(words.end(), variables.begin(), variables.end());
    words.push_back(program.string());
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_process(words).output;
  }
  std::string chosen(const fs::path& name) const { return run({"WKVC_NVRTC=" + path(name).string()}); }

  std::string given(const char* variable, const char* name) const {
    return std::string(variable) + "=" + path(name).string();
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(LibrarySearch, TakesASuitableNvrtcBehindUnsuitableOnes) {
  add_nvrtc("cuda/lib64/libnvrtc.so.13", "13.7", "13 7 80 90 100");
  EXPECT_EQ(run({unsuitable_names(), given("CUDA_HOME", "cuda")}),
            "13.7 " + path("cuda/lib64/libnvrtc.so.13").string() + "\n");
}

TEST_F(LibrarySearch, SaysOfEveryNvrtcWhyNot) {
  for (const char* name : {"libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13"}) {
    if (fs::exists(fs::path("/usr/local/cuda/lib64") / name)) GTEST_SKIP() << "there is a good one here: " << name;
  }
  EXPECT_THAT(run({unsuitable_names()}),
              AllOf(StartsWith("NVRTC, which compiles kernels for the GPU, was not found: wkvc needs the libnvrtc of "
                               "CUDA 12 or 13 that compiles for sm_90a"),
                    HasSubstr("pip install nvidia-cuda-nvrtc"), HasSubstr("loader/libnvrtc.so.13 is of CUDA 11.8\n"),
                    HasSubstr("loader/libnvrtc.so.12: invalid ELF header\n"),
                    HasSubstr("loader/libnvrtc.so has no function nvrtcVersion\n"), HasSubstr("exited with 2")));
}

// Every message begins with the variable, says what is needed, and comes with 2.
TEST_F(LibrarySearch, AnUnsuitableChoiceIsTheUsersMistake) {
  const auto expect = [&](const fs::path& name, const std::string& why) {
    EXPECT_THAT(chosen(name),
                AllOf(StartsWith("WKVC_NVRTC is " + path(name).string() + ", but wkvc needs the libnvrtc"),
                      HasSubstr("CUDA 12 or 13"), HasSubstr("\n  " + path(name).string() + why + "\n"),
                      HasSubstr("exited with 2")));
  };
  add_nvrtc("old/libnvrtc.so", "11.8", "11 8 80 90");
  expect("old/libnvrtc.so", " is of CUDA 11.8");
  add_nvrtc("new/libnvrtc.so", "14.0", "14 0 90");
  expect("new/libnvrtc.so", " is of CUDA 14.0");
  add_nvrtc("narrow/libnvrtc.so", "12.2", "12 2 70 80");
  expect("narrow/libnvrtc.so", ", of CUDA 12.2, compiles for sm_70, sm_80 only");
  copy(WKVC_FAKE_NVRTC, "mute/libnvrtc.so");
  EXPECT_THAT(chosen("mute/libnvrtc.so"), AllOf(HasSubstr("cannot tell its version"), HasSubstr("exited with 2")));
  copy(WKVC_FAKE_NVRTC, "half/libnvrtc.so");
  write("half/says", "12 77 90");
  expect("half/libnvrtc.so",
         " needs libnvrtc-builtins.so.12.77, which is neither beside it nor where the loader looks");
  copy(WKVC_FAKE_DRIVER, "other/libnvrtc.so");
  expect("other/libnvrtc.so", " has no function nvrtcVersion");
  write("text", "short");
  expect("text", ": file too short");
  expect("nowhere", ": cannot open shared object file: No such file or directory");
  fs::create_directories(path("folder"));
  expect("folder", " is no regular file but a directory");
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  expect("fifo", " is no regular file but a FIFO");
  // An ELF header of another machine before the rest of a library of this one.
  copy(WKVC_FAKE_NVRTC, "machine");
  std::fstream file(path("machine"), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(18).write("\x16\x00", 2);  // s390
  file.close();
  expect("machine", ": built for another kind of processor");
}

TEST_F(LibrarySearch, TheChoiceIsTakenAlone) {
  add_nvrtc("chosen/libnvrtc.so", "12.5", "12 5 90");
  add_nvrtc("cuda/lib64/libnvrtc.so.13", "13.7", "13 7 90");
  EXPECT_EQ(run({given("CUDA_HOME", "cuda"), given("WKVC_NVRTC", "chosen/libnvrtc.so")}),
            "12.5 " + path("chosen/libnvrtc.so").string() + "\n");
}

TEST_F(LibrarySearch, FindsBuiltinsBesideTheFileOfALink) {
  add_nvrtc("real/libnvrtc.so.12", "12.5", "12 5 90");
  fs::create_directories(path("links"));
  fs::create_symlink(path("real/libnvrtc.so.12"), path("links/libnvrtc.so"));
  write("links/says", "12 5 90");
  EXPECT_THAT(chosen("links/libnvrtc.so"), StartsWith("12.5 "));
}

// Those of CUDA 13 wherever they are, then those of 12, then those whose name does not tell.
TEST_F(LibrarySearch, TriesTheNewestNamesFirst) {
  const std::string wheels = "environment/lib/python3.9/site-packages/nvidia/";
  const std::string beside = "beside/lib/python3.9/site-packages/";
  for (const std::string& name : {std::string("home/lib64/libnvrtc.so"), std::string("home/lib64/libnvrtc.so.12"),
                                  wheels + "cu13/lib/libnvrtc.so.13", wheels + "cuda_nvrtc/lib/libnvrtc.so.12",
                                  std::string("conda/lib/libnvrtc.so.12"), beside + "nvidia/cu13/lib/libnvrtc.so.13"}) {
    write(name, "");
  }
  copy(WKVC_LIBRARY_PROCESS, beside + "wkvc/bin/library_process");
  const std::string output =
      run({given("CUDA_HOME", "home"), given("VIRTUAL_ENV", "environment"), given("CONDA_PREFIX", "conda")},
          {"candidates"}, path(beside + "wkvc/bin/library_process"));
  std::size_t last = 0;
  for (const std::string& name : {std::string("libnvrtc.so.13\n"), wheels + "cu13/lib/libnvrtc.so.13\n",
                                  beside + "nvidia/cu13/lib/libnvrtc.so.13\n", std::string("\nlibnvrtc.so.12\n"),
                                  std::string("home/lib64/libnvrtc.so.12\n"),
                                  wheels + "cuda_nvrtc/lib/libnvrtc.so.12\n", std::string("conda/lib/libnvrtc.so.12\n"),
                                  std::string("\nlibnvrtc.so\n"), std::string("home/lib64/libnvrtc.so\n")}) {
    const std::size_t at = output.find(name, last);
    ASSERT_NE(at, std::string::npos) << name << " in its place in " << output;
    last = at + name.size() - 1;
  }
}

// The answer that is kept holds while every library that was looked at is as it was.
TEST_F(LibrarySearch, LooksAgainWhereACandidateHasChanged) {
  const std::vector<std::string> variables{unsuitable_names(), given("CUDA_HOME", "home"), given("CUDA_PATH", "path")};
  const auto identity = [&] { return run(variables, {"identity", path("cache").string()}); };
  add_nvrtc("home/lib64/libnvrtc.so.13", "11.8", "11 8 90");
  add_nvrtc("path/lib64/libnvrtc.so.13", "13.5", "13 5 90");
  EXPECT_EQ(identity(), "13.5\n");
  EXPECT_EQ(identity(), "13.5\n");
  add_nvrtc("home/lib64/libnvrtc.so.13", "13.7", "13 7 90");
  EXPECT_EQ(identity(), "13.7\n");
}

TEST_F(LibrarySearch, AnUnsuitableDriverIsTheUsersMistake) {
  copy(WKVC_FAKE_NVRTC, "other/libcuda.so.1");
  EXPECT_THAT(run({given("LD_LIBRARY_PATH", "other")}, {"driver"}),
              AllOf(HasSubstr("other/libcuda.so.1 has no function cuInit"), HasSubstr("driver of CUDA 12 or later"),
                    HasSubstr("exited with 2")));
  write("text/libcuda.so.1", "short");
  EXPECT_THAT(run({given("LD_LIBRARY_PATH", "text")}, {"driver"}),
              AllOf(HasSubstr("text/libcuda.so.1: file too short"), HasSubstr("exited with 2")));
  copy(WKVC_FAKE_DRIVER, "driver/libcuda.so.1");
  EXPECT_EQ(run({given("LD_LIBRARY_PATH", "driver")}, {"driver"}),
            "13.0 " + path("driver/libcuda.so.1").string() + "\n");
  EXPECT_EQ(run({given("LD_LIBRARY_PATH", "driver"), "FAKE_DRIVER_VERSION=12020"}, {"driver"}),
            "12.2 " + path("driver/libcuda.so.1").string() + ", in order\n");
  EXPECT_THAT(run({given("LD_LIBRARY_PATH", "driver"), "FAKE_DRIVER_VERSION=11040"}, {"driver"}),
              AllOf(HasSubstr("driver/libcuda.so.1) is of CUDA 11.4"), HasSubstr("driver of CUDA 12 or later"),
                    HasSubstr("exited with 2")));
}

}  // namespace
}  // namespace wkvc
