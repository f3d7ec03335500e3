// The host target: the same kernel text, compiled by the system's C++ compiler.
//
// The templates give the text an entry point `extern "C" int NAME(const void* kernel_args, wkvc::host::Launch* launch)`
// that runs every block (templates/wkvc/host/launch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wkvc/host/launch.h"

namespace wkvc {

class HostKernel {
 public:
  // Compiles `kernel_source` (with $CXX, else c++, g++ or clang++, and the flags in $WKVC_HOST_CXXFLAGS) unless this
  // process already has, and finds `symbol` in it. Throws UserError: no compiler, a machine that lacks what compiling
  // and loading takes, or a text without the symbol; InternalError: the text does not compile (log and numbered source
  // together).
  static HostKernel compile(const std::string& kernel_source, const std::string& symbol);

  // Runs `blocks` blocks of the kernel (0: one for each batch and head) on KernelArgs whose pointers are host pointers,
  // with `shared_bytes` of shared memory a block. Throws UserError where the machine has no memory for blocks and
  // warps, and InternalError with the kernel's message, which it also gives when warps wait for each other: at once,
  // and after `stall_seconds` where a sanitizer watches.
  void run(const void* kernel_args, std::int64_t shared_bytes, std::int64_t blocks = 0,
           double stall_seconds = 20) const;

 private:
  using Entry = int(const void* kernel_args, host::Launch* launch);
  struct Object;

  std::shared_ptr<const Object> object_;
  Entry* entry_ = nullptr;
  std::string symbol_;
};

}  // namespace wkvc
