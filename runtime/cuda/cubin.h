// What a compiled kernel uses, known without a GPU.
//
// Read from ptxas' report in the log of compile_cubin rather than from the cubin itself: the ELF attributes lack the
// spills and count the 1 KiB of shared memory that the system reserves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wkvc {

struct CubinUsage {
  int registers = 0;               // of one thread
  std::int64_t stack_bytes = 0;    // local memory of one thread: spills and arrays that are not in registers
  std::int64_t spill_stores = 0;   // bytes one thread stores and
  std::int64_t spill_loads = 0;    // loads when it runs straight through
  std::int64_t static_shared = 0;  // bytes of one block, without the dynamic part
};

// Throws InternalError when `log` has no report of `kernel`.
CubinUsage usage_from(std::string_view log, const std::string& kernel);

// Bytes of a kernel's machine code, 16 an instruction; throws InternalError when the cubin has no such kernel.
std::int64_t code_bytes(std::span<const char> cubin, const std::string& kernel);

}  // namespace wkvc
