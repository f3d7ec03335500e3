// An NVRTC for tests that compiles nothing. What it says of itself is in the file "says" beside it: major and minor
// version, and the architectures that it knows.
#include <dlfcn.h>

#include <fstream>
#include <string>
#include <vector>

namespace {

std::vector<int> said() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(&said), &info);
  const std::string file = info.dli_fname;
  std::ifstream stream(file.substr(0, file.rfind('/')) + "/says");
  std::vector<int> numbers;
  for (int number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

}  // namespace

extern "C" int nvrtcVersion(int* major, int* minor) {
  const std::vector<int> numbers = said();
  if (numbers.size() < 2) return 1;
  *major = numbers[0];
  *minor = numbers[1];
  return 0;
}
extern "C" int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(said().size()) - 2;
  return 0;
}
extern "C" int nvrtcGetSupportedArchs(int* archs) {
  const std::vector<int> numbers = said();
  for (std::size_t i = 2; i < numbers.size(); ++i) archs[i - 2] = numbers[i];
  return 0;
}
extern "C" const char* nvrtcGetErrorString(int) { return "an error"; }
extern "C" int nvrtcCreateProgram() { return 1; }
extern "C" int nvrtcDestroyProgram() { return 1; }
extern "C" int nvrtcCompileProgram() { return 1; }
extern "C" int nvrtcGetProgramLogSize() { return 1; }
extern "C" int nvrtcGetProgramLog() { return 1; }
extern "C" int nvrtcGetCUBINSize() { return 1; }
extern "C" int nvrtcGetCUBIN() { return 1; }
extern "C" int nvrtcGetPTXSize() { return 1; }
extern "C" int nvrtcGetPTX() { return 1; }
