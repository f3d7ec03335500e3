// The GPUs that kernels are for.
#pragma once

#include <string>

#include "runtime/cuda/driver.h"

namespace wkvc {

// Returns why kernels do not run on the GPU, with the GPUs that they are for; empty where they run.
std::string why_unsuitable(const DeviceProperties& gpu);

}  // namespace wkvc
