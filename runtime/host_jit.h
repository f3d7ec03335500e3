// The host target: the same kernel text, compiled by the system's C++ compiler.
//
// The templates give the text an entry point `extern "C" int NAME(const void* kernel_args, char* message,
// unsigned long message_bytes)` that runs every block and returns 0, or another value with a message why not.
#pragma once

#include <memory>
#include <string>

namespace wkvc {

class HostKernel {
 public:
  // Compiles `kernel_source` (with $CXX, else c++, g++ or clang++, and the flags in $WKVC_HOST_CXXFLAGS) unless this
  // process already has, and finds `symbol` in it. Throws UserError: no compiler; InternalError: the text does not
  // compile (log and numbered source together) or lacks the symbol.
  static HostKernel compile(const std::string& kernel_source, const std::string& symbol);

  // Runs the kernel on KernelArgs whose pointers are host pointers. Throws InternalError with the kernel's message.
  void run(const void* kernel_args) const;

 private:
  using Entry = int(const void* kernel_args, char* message, unsigned long message_bytes);
  struct Object;

  std::shared_ptr<const Object> object_;
  Entry* entry_ = nullptr;
  std::string symbol_;
};

}  // namespace wkvc
