// Runs a kernel on tensors in host memory.
#pragma once

#include <optional>
#include <string>

#include "runtime/kernel.h"
#include "tools/cases.h"

namespace wkvc {

// "cpu" or "cuda"; when not given, cuda where there is a GPU the kernels are for. Throws UserError: another name, or
// cuda where there is none.
Target target_from(const std::optional<std::string>& device);
const char* device_name(Target target);  // "cpu", "cuda"

// Fills the case's outputs.
void execute(const Kernel& kernel, Case& values);

}  // namespace wkvc
