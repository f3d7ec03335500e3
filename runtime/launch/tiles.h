// Launches that kernels which copy tensors as tiles take (Manifest::maps). Internal to the runtime.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/manifest/manifest.h"
#include "templates/wkvc/abi.h"

namespace wkvc {

// Returns why a kernel does not take such arguments, for people; empty where the kernel does.
std::string why_no_tiles(const Manifest& manifest, std::span<const std::byte> arguments);

// Returns the arguments of one of a kernel's tensors.
TensorArg tensor_of(std::span<const std::byte> arguments, std::size_t index);

}  // namespace wkvc
