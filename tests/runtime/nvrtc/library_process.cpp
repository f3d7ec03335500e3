// library_process nvrtc|driver: a process that has just been started opens the library, and prints its version and
// file, and whether kernels start in order, or the message of a UserError, with which it returns 2.
// library_process candidates: prints the candidates for NVRTC.
// library_process identity DIRECTORY: prints the version of NVRTC by way of the cache in this directory.
#include <fmt/core.h>

#include <string_view>

#include "runtime/cuda/cuda_library.h"
#include "runtime/nvrtc/nvrtc_identity.h"
#include "runtime/nvrtc/nvrtc_library.h"
#include "runtime/nvrtc/nvrtc_search.h"

int main(int argc, char** argv) {
  if (argc < 2) return 3;
  const std::string_view what = argv[1];
  try {
    if (what == "candidates") {
      for (const std::string& candidate : wkvc::nvrtc_candidates()) fmt::print("{}\n", candidate);
    } else if (what == "identity" && argc == 3) {
      const wkvc::DiskCache cache({.directory = argv[2], .why_off = {}});
      fmt::print("{}\n", wkvc::nvrtc_identity(cache).version);
    } else if (what == "nvrtc") {
      const wkvc::NvrtcLibrary& nvrtc = wkvc::nvrtc_library();
      fmt::print("{} {}\n", nvrtc.release(), nvrtc.library.file());
    } else {
      const wkvc::CudaLibrary& cuda = wkvc::cuda_library();
      fmt::print("{} {}{}\n", cuda.release(), cuda.library.file(), cuda.starts_early() ? "" : ", in order");
    }
    return 0;
  } catch (const wkvc::UserError& error) {
    fmt::print("{}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print("not the user's: {}\n", error.what());
    return 3;
  }
}
