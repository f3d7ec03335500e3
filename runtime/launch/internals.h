// Memory for what the kernels of a program keep for each other.
#pragma once

#include <map>
#include <string>

#include "runtime/cuda/device_tensor.h"
#include "runtime/program.h"

namespace wkvc {

std::int64_t internal_bytes(const Program& program, LaunchSize size);  // of all of Program::internals

std::map<std::string, HostTensor> host_internals(const Program& program, LaunchSize size);  // zeros
std::map<std::string, DeviceTensor> device_internals(const Program& program, const Device& device, LaunchSize size);

}  // namespace wkvc
