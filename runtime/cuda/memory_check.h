// Whether a kernel reaches the memory it is launched with. Internal to the runtime.
#pragma once

#include <span>

#include "runtime/launch/backend.h"
#include "runtime/launch/launch_plan.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

// Throws UserError when a tensor that has elements, or a map of sequences, begins in memory that kernels of `backend`
// cannot reach. `tensors` and `size` have passed check_launch.
void check_memory(const Backend& backend, const LaunchPlan& plan, std::span<const Tensor> tensors,
                  const LaunchSize& size);

}  // namespace wkvc
