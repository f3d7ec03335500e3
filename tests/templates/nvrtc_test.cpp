// Every kernel text compiles with NVRTC for sm_90a, headers given by name only, without warnings.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/hash.h"

namespace wkvc::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What kernels may include, by the name they include it with.
struct Headers {
  std::vector<std::string> names, texts;

  void add(const std::string& name, const fs::path& path) {
    names.push_back(name);
    texts.push_back(text_of(path));
  }
};

Headers all_headers() {
  Headers headers;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(WKVC_TEMPLATES) / "wkvc")) {
    if (entry.is_regular_file()) headers.add(fs::relative(entry.path(), WKVC_TEMPLATES), entry.path());
  }
  headers.add("tile_io.h", fs::path(WKVC_TEST_KERNELS) / "tile_io.h");
  return headers;
}

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> result;
  for (const std::string& s : strings) result.push_back(s.c_str());
  return result;
}

// The few functions of libnvrtc that this needs, opened at run time.
class Nvrtc {
 public:
  Nvrtc() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
  }

  bool available() const { return library_ != nullptr; }

  std::string version() const {
    int major = 0, minor = 0;
    call<int(int*, int*)>("nvrtcVersion", &major, &minor);
    return std::to_string(major) + "." + std::to_string(minor);
  }

  struct Result {
    bool ok;
    std::string log, ptx;
  };

  Result compile(const std::string& source, const Headers& headers) const {
    void* program = nullptr;
    const auto texts = pointers(headers.texts), names = pointers(headers.names);
    call<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
        "nvrtcCreateProgram", &program, source.c_str(), "kernel.cu", static_cast<int>(names.size()), texts.data(),
        names.data());
    const char* options[] = {"--gpu-architecture=sm_90a", "-std=c++20", "--device-as-default-execution-space",
                             "--ptxas-options=-v"};
    const int error = call<int(void*, int, const char* const*)>("nvrtcCompileProgram", program,
                                                                static_cast<int>(std::size(options)), options);
    Result result{error == 0, read(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"), {}};
    if (result.ok) result.ptx = read(program, "nvrtcGetPTXSize", "nvrtcGetPTX");
    call<int(void**)>("nvrtcDestroyProgram", &program);
    return result;
  }

 private:
  template <class Function, class... Args>
  int call(const char* name, Args... args) const {
    return reinterpret_cast<Function*>(dlsym(library_, name))(args...);
  }

  std::string read(void* program, const char* size_function, const char* text_function) const {
    std::size_t size = 0;
    call<int(void*, std::size_t*)>(size_function, program, &size);
    std::string text(size, '\0');
    call<int(void*, char*)>(text_function, program, text.data());
    return text;
  }

  void* library_ = nullptr;
};

// Names a file that says that these texts have compiled without a warning, with this NVRTC. test.sh drops old ones.
fs::path stamp_of(const std::string& kernel, const Headers& headers, const std::string& version) {
  std::string all = version + kernel;
  for (std::size_t i = 0; i < headers.names.size(); ++i) all += '\0' + headers.names[i] + '\0' + headers.texts[i];
  return fs::path(WKVC_TEST_OBJECTS) / ("nvrtc-" + hex_hash(all));
}

class NvrtcTest : public testing::TestWithParam<std::string> {};

TEST_P(NvrtcTest, Compiles) {
  const Nvrtc nvrtc;
  if (!nvrtc.available()) GTEST_SKIP() << "libnvrtc is not installed";
  const std::string kernel = text_of(fs::path(WKVC_TEST_KERNELS) / (GetParam() + ".cu"));
  const Headers headers = all_headers();
  const fs::path stamp = stamp_of(kernel, headers, nvrtc.version());
  if (fs::exists(stamp)) return;
  const auto result = nvrtc.compile(kernel, headers);
  ASSERT_TRUE(result.ok) << result.log;
  ASSERT_EQ(result.log.find("warning"), std::string::npos) << result.log;
  fs::create_directories(stamp.parent_path());
  std::ofstream{stamp};
}

INSTANTIATE_TEST_SUITE_P(Kernels, NvrtcTest,
                         testing::Values("activations", "arithmetic", "barriers", "chunked", "global", "inverse",
                                         "kept_state", "levels", "mma", "rows", "segments", "shared", "slabs",
                                         "triangular"));

// More elements a lane than NVRTC follows templates that need each other, which is 200.
TEST(NvrtcCode, TilesOfManyElementsCompile) {
  const Nvrtc nvrtc;
  if (!nvrtc.available()) GTEST_SKIP() << "libnvrtc is not installed";
  const auto result = nvrtc.compile(R"(
#include "wkvc/tile.h"
using namespace wkvc;
WKVC_KERNEL(large, 1, 1, 1) {
  store_state(zeros<96, 96>() + 1.f, args.tensor[0], block, 0);
}
)",
                                    all_headers());
  EXPECT_TRUE(result.ok) << result.log;
}

// What the speed of a realistic kernel rests on.
TEST(NvrtcCode, UsesTensorCoresAndMatrixMovesAndNoLocalMemory) {
  const Nvrtc nvrtc;
  if (!nvrtc.available()) GTEST_SKIP() << "libnvrtc is not installed";
  const auto result = nvrtc.compile(text_of(fs::path(WKVC_TEST_KERNELS) / "chunked.cu"), all_headers());
  for (const char* instruction : {"mma.sync.aligned.m16n8k16.row.col.f32.f16", "ldmatrix.sync.aligned.m8n8.x4.shared",
                                  "ldmatrix.sync.aligned.m8n8.x4.trans", "stmatrix.sync.aligned",
                                  "cp.async.cg.shared.global", "redux.sync.max", "griddepcontrol.wait"}) {
    EXPECT_NE(result.ptx.find(instruction), std::string::npos) << instruction;
  }
  std::istringstream lines(result.log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("spill") == std::string::npos) continue;
    EXPECT_NE(line.find("0 bytes stack frame, 0 bytes spill stores"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace wkvc::test
