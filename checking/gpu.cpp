#include "checking/gpu.h"

#include <fmt/format.h>

#include "codegen/target/Target.h"

namespace wkvc {

std::string why_unsuitable(const DeviceProperties& gpu) {
  if (runs_kernels(gpu.compute_major, gpu.compute_minor)) return "";
  return fmt::format("{} has compute capability {}.{}; the kernels are for {}.{} ({})", gpu.name, gpu.compute_major,
                     gpu.compute_minor, sm_90a.compute_major, sm_90a.compute_minor, sm_90a.gpus);
}

}  // namespace wkvc
