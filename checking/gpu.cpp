#include "checking/gpu.h"

#include <fmt/format.h>

#include "codegen/target/Support.h"

namespace wkvc {

std::string why_unsuitable(const DeviceProperties& gpu) {
  if (runs_kernels(gpu.compute_major, gpu.compute_minor)) return "";
  return fmt::format("{} has compute capability {}.{}; the kernels are for {}.{} ({})", gpu.name, gpu.compute_major,
                     gpu.compute_minor, supported_major, supported_minor, supported_gpus);
}

}  // namespace wkvc
