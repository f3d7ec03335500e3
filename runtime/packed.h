// Kernels that were compiled while a program was built: what `wkvc pack` writes into a program's source.
#pragma once

#include <span>
#include <string_view>

namespace wkvc {

// Views of constants, which live as long as the program does.
struct PackedProgram {
  std::string_view text;          // of the cuda stage, as emitted
  std::span<const char> aligned;  // the cubin of all kernels, for launches that move rows in pieces of 16 bytes
  std::string_view log;           // ptxas' report of each of them
  std::span<const char> general;  // the cubin for all launches
};

}  // namespace wkvc
