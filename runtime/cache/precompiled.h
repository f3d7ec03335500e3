// Kernels that were compiled before wkvc was installed, as files of a folder that is only read: calls whose kernels are
// there need no NVRTC, and a first one does not wait for it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/manifest/manifest.h"
#include "runtime/nvrtc/nvrtc.h"

namespace wkvc {

class PrecompiledKernels {
 public:
  explicit PrecompiledKernels(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns those of the folder $WKVC_KERNELS (empty: none) or, where that is not set, of `kernels` beside the file
  // that holds this code: the command, libwkvc.so or the user's program. The folder need not be there.
  static PrecompiledKernels from_environment();

  // The kernel that store() left here for the same text, templates and options. None where a driver of CUDA `driver`
  // ("13.0") is of an earlier major release than the NVRTC that compiled it. A file that is damaged is none; a warning
  // (runtime/warnings.h) names it.
  std::optional<CubinResult> find(const std::string& kernel_source, const Manifest& manifest,
                                  const NvrtcOptions& options, std::string_view driver) const;
  // For the driver of this machine; none without one.
  std::optional<CubinResult> find(const std::string& kernel_source, const Manifest& manifest,
                                  const NvrtcOptions& options) const;

  // Writes a kernel that NVRTC of version `nvrtc` compiled. The folder has to be there. Throws UserError when the file
  // cannot be written.
  void store(const std::string& kernel_source, const Manifest& manifest, const NvrtcOptions& options,
             const CubinResult& result, std::string_view nvrtc) const;

 private:
  std::filesystem::path folder_;  // empty: none
};

}  // namespace wkvc
