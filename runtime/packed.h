// Kernels that were compiled while a program was built: what `wkvc pack` writes into a program's source.
#pragma once

#include <span>
#include <string_view>

namespace wkvc {

// Views of constants, which live as long as the program does.
struct PackedCubin {
  std::span<const char> cubin;  // of all kernels
  std::string_view log;         // ptxas' report of each
};

struct PackedProgram {
  std::string_view text;  // of the cuda stage, as emitted
  PackedCubin aligned;    // for launches that move rows in pieces of 16 bytes
  PackedCubin general;    // for all
};

}  // namespace wkvc
