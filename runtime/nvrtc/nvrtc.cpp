#include "runtime/nvrtc/nvrtc.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "runtime/base/embedded.h"
#include "runtime/base/machine_fault.h"
#include "runtime/base/reason.h"
#include "runtime/error.h"
#include "runtime/nvrtc/nvrtc_library.h"
#include "runtime/nvrtc/source_listing.h"

namespace wkvc {
namespace {

using Fetch = NvrtcLibrary::Result (*)(NvrtcLibrary::Program, char*);
using FetchSize = NvrtcLibrary::Result (*)(NvrtcLibrary::Program, std::size_t*);

class Program {
 public:
  explicit Program(const std::string& source) : nvrtc_(nvrtc_library()) {
    std::vector<const char*> texts, names;
    for (const EmbeddedHeader& header : embedded_headers()) {
      texts.push_back(header.text);
      names.push_back(header.name);
    }
    nvrtc_.check(nvrtc_.create(&program_, source.c_str(), "kernel.cu", static_cast<int>(names.size()), texts.data(),
                               names.data()),
                 "create a program");
  }
  ~Program() { nvrtc_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  NvrtcLibrary::Result compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    texts.reserve(options.size());
    for (const std::string& option : options) texts.push_back(option.c_str());
    return nvrtc_.compile(program_, static_cast<int>(texts.size()), texts.data());
  }

  std::vector<char> fetch(FetchSize size_of_it, Fetch fetch_it, const char* what) const {
    std::size_t size = 0;
    nvrtc_.check(size_of_it(program_, &size), what);
    std::vector<char> bytes(size);
    nvrtc_.check(fetch_it(program_, bytes.data()), what);
    return bytes;
  }

  // NVRTC counts the closing NUL of its texts.
  std::string fetch_text(FetchSize size_of_it, Fetch fetch_it, const char* what) const {
    std::vector<char> bytes = fetch(size_of_it, fetch_it, what);
    bytes.push_back('\0');
    return bytes.data();
  }

  std::string log() const { return fetch_text(nvrtc_.log_size, nvrtc_.log, "return its log"); }

 private:
  const NvrtcLibrary& nvrtc_;
  NvrtcLibrary::Program program_ = nullptr;
};

// The part behind "sm_": "90a".
std::string_view arch_suffix(std::string_view arch) {
  const std::string_view suffix = arch.substr(std::min<std::size_t>(arch.size(), 3));
  int number = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), number);
  const std::string_view rest = suffix.substr(static_cast<std::size_t>(end - suffix.data()));
  if (!arch.starts_with("sm_") || error != std::errc{} || (rest != "" && rest != "a" && rest != "f")) {
    user_error("the architecture \"{}\" is not known: expected a name such as sm_90a", arch);
  }
  const std::vector<int> known = nvrtc_library().architectures();
  if (std::ranges::find(known, number) == known.end()) {
    user_error("NVRTC {} does not compile for {}: it knows sm_{}. Choose one, or install another CUDA toolkit",
               nvrtc_version(), arch, fmt::join(known, ", sm_"));
  }
  return suffix;
}

void compile(Program& program, const std::string& source, const std::string& arch, const NvrtcOptions& options) {
  const std::vector<std::string> texts = nvrtc_options(arch, options, nvrtc_version());
  const NvrtcLibrary& nvrtc = nvrtc_library();
  const NvrtcLibrary::Result result = program.compile(texts);
  if (result == 0) return;
  if (result == NvrtcLibrary::builtins_failed) {
    user_error("{} does not work: {}\n{}\nInstall the whole of NVRTC, or set WKVC_NVRTC to another libnvrtc.so",
               nvrtc.library.file(), nvrtc.error_text(result), program.log());
  }
  std::optional<MachineFault> fault = machine_fault_in(program.log());
  if (!fault && result == NvrtcLibrary::out_of_memory) fault = {nvrtc.error_text(result), remedies::memory};
  if (fault) {
    user_error("this machine kept NVRTC {} from compiling a kernel: {}. Remedy: {}, or compile fewer kernels at once",
               nvrtc.release(), fault->found, fault->remedy);
  }
  internal_error("NVRTC {} ({}) does not compile the kernel: {}\n{}\nkernel.cu:\n{}", nvrtc.release(),
                 fmt::join(texts, " "), nvrtc.error_text(result), program.log(), numbered(source));
}

}  // namespace

bool nvrtc_available(std::string* why_not) {
  try {
    nvrtc_library();
    return true;
  } catch (const std::runtime_error& error) {
    if (why_not != nullptr) *why_not = error.what();
    return false;
  }
}

std::string nvrtc_version() { return nvrtc_library().release(); }

std::vector<std::string> nvrtc_options(const std::string& arch, const NvrtcOptions& options,
                                       const std::string& version) {
  // Lambdas with template parameters count as host functions otherwise.
  std::vector<std::string> texts{"--gpu-architecture=" + arch, "-std=c++20", "--device-as-default-execution-space"};
  if (options.line_info) texts.emplace_back("-lineinfo");
  if (!options.only_kernel.empty()) texts.emplace_back("-DWKVC_ONLY=" + options.only_kernel);
  if (options.aligned) texts.emplace_back("-DWKVC_ALIGNED");
  if (options.sequences) texts.emplace_back("-DWKVC_SEQUENCES");
  // ptxas reports registers and spills into the log only when asked; PTX never reaches it.
  if (arch.starts_with("sm_")) texts.emplace_back("--ptxas-options=-v");
  // Where there is a driver, NVRTC 13 keeps a cache of its own, and what comes out of it has no report.
  if (std::stoi(version) >= 13) texts.emplace_back("--no-cache");
  return texts;
}

CubinResult compile_cubin(const std::string& kernel_source, std::string_view arch, const NvrtcOptions& options) {
  const NvrtcLibrary& nvrtc = nvrtc_library();
  const std::string name = fmt::format("sm_{}", arch_suffix(arch));
  Program program(kernel_source);
  compile(program, kernel_source, name, options);
  return {program.fetch(nvrtc.cubin_size, nvrtc.cubin, "return the cubin"), program.log()};
}

std::string compile_ptx(const std::string& kernel_source, std::string_view arch, const NvrtcOptions& options) {
  const NvrtcLibrary& nvrtc = nvrtc_library();
  const std::string name = fmt::format("compute_{}", arch_suffix(arch));
  Program program(kernel_source);
  compile(program, kernel_source, name, options);
  return program.fetch_text(nvrtc.ptx_size, nvrtc.ptx, "return the PTX");
}

}  // namespace wkvc
