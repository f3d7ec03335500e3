// The functions of NVRTC that are used, declared here so that no CUDA toolkit is needed to build.
// Internal to the runtime.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/dynamic_library.h"

namespace wkvc {

struct NvrtcLibrary {
  using Program = void*;
  using Result = int;  // 0: success
  static constexpr Result out_of_memory = 1, builtins_failed = 7;

  DynamicLibrary builtins;  // what `library` opens by itself, but does not look for beside itself
  DynamicLibrary library;
  Result (*version)(int* major, int* minor) = nullptr;
  Result (*supported_arch_count)(int* count) = nullptr;
  Result (*supported_archs)(int* archs) = nullptr;
  Result (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                   const char* const* names) = nullptr;
  Result (*destroy)(Program*) = nullptr;
  Result (*compile)(Program, int count, const char* const* options) = nullptr;
  Result (*log_size)(Program, std::size_t*) = nullptr;
  Result (*log)(Program, char*) = nullptr;
  Result (*cubin_size)(Program, std::size_t*) = nullptr;
  Result (*cubin)(Program, char*) = nullptr;
  Result (*ptx_size)(Program, std::size_t*) = nullptr;
  Result (*ptx)(Program, char*) = nullptr;
  const char* (*error_text)(Result) = nullptr;

  void check(Result result, const char* what) const;  // throws InternalError
  std::string release() const;                        // "13.0"
  std::vector<int> architectures() const;             // 90, 100
};

// The first of the candidates (nvrtc_search.h) that is of a CUDA that compiles the kernels, opened at the first call;
// throws UserError, which says of each candidate why not, when there is none.
const NvrtcLibrary& nvrtc_library();

}  // namespace wkvc
