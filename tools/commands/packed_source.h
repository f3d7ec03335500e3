// The C++ source that carries compiled kernels into a program: a header with one class an operator, and its cubins.
#pragma once

#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"
#include "runtime/nvrtc/nvrtc.h"

namespace wkvc {

struct CompiledProgram {
  std::string name;           // of the class
  std::string text;           // of the cuda stage
  CubinResult aligned;        // see NvrtcOptions::aligned
  std::vector<char> general;  // the cubin of the others
};

// The header `name`.h, and the source `name`.cpp that includes it; both need the runtime's headers and library alone.
// The classes are in the namespace `name`.
std::string packed_header(const std::string& name, const std::vector<CompiledProgram>& programs);
std::string packed_source(const std::string& name, const std::vector<CompiledProgram>& programs);

}  // namespace wkvc
