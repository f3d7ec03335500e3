// Kernels that were compiled while a program was built: what `wkvc pack` writes into a program's source.
#pragma once

#include <span>
#include <string_view>

namespace wkvc {

// Views of constants, which live as long as the program does.
struct PackedProgram {
  std::string_view text;  // of the cuda stage, as emitted
  std::span<const char> cubin;
  std::string_view log;  // ptxas' report of each kernel
};

}  // namespace wkvc
