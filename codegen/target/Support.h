// The one GPU that kernels are for: texts, options and programs ask here.
#pragma once

#include <string_view>

#include "codegen/target/Target.h"

namespace wkvc {

inline constexpr std::string_view supported_gpus = "H100, H200";
inline constexpr int supported_major = 9, supported_minor = 0;  // the compute capability that sm_90a runs on

// Returns whether kernels are compiled for it. Instructions of another one would take templates of their own.
constexpr bool is_supported(std::string_view arch) { return arch == sm_90a.arch; }

// Returns whether a GPU of this compute capability runs the kernels.
constexpr bool runs_kernels(int compute_major, int compute_minor) {
  return compute_major == supported_major && compute_minor == supported_minor;
}

}  // namespace wkvc
