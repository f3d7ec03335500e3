// Kernel text → cubin or PTX through NVRTC, which is opened at run time. Needs no GPU and no driver.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wkvc {

struct CubinResult {
  std::vector<char> cubin;
  std::string log;  // warnings, and ptxas' report of each kernel (see cubin.h)
};

struct NvrtcOptions {
  bool line_info = false;        // for profilers: relates instructions to lines of the kernel text
  std::string only_kernel = {};  // leaves the other kernels of the text empty; none: all get code
  bool aligned = false;          // for launches that moves_in_pieces (launch_arguments.h), and for no others
  bool sequences = false;        // for launches that maps_sequences; without, for no such launches
};

// True when there is an NVRTC that compiles the kernels; else `why_not` (may be null) says what was tried and what to
// install.
bool nvrtc_available(std::string* why_not);

std::string nvrtc_version();  // "13.0"; throws UserError when there is no NVRTC

// Compiles kernel text that may include any embedded header ("wkvc/abi.h"). `arch` is a real architecture: "sm_90a".
// Throws UserError: no NVRTC, one that does not know `arch`, or too little memory; InternalError: the text does not
// compile (log and numbered source together). NVRTC is the library that $WKVC_NVRTC names. Without that it is looked
// for where the loader looks, in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, in $VIRTUAL_ENV, $CONDA_PREFIX and ./.venv
// with the PyPI wheels there (PyTorch's, too), and beside wkvc: CUDA 13 everywhere, then CUDA 12.
CubinResult compile_cubin(const std::string& kernel_source, std::string_view arch, const NvrtcOptions& options = {});
std::string compile_ptx(const std::string& kernel_source, std::string_view arch, const NvrtcOptions& options = {});

// What NVRTC of this version is given to compile for `arch`: "sm_90a", or "compute_90a" for PTX.
std::vector<std::string> nvrtc_options(const std::string& arch, const NvrtcOptions& options,
                                       const std::string& version);

}  // namespace wkvc
