// The header comment and the manifest of an emitted nest.
#pragma once

#include "codegen/nest/Nest.h"
#include "runtime/manifest/manifest.h"

namespace wkvc::nest {

// Returns the manifest of a kernel that takes so many bytes of shared memory.
Manifest manifest_of(KernelOp kernel, int64_t shared_bytes);

std::string header_comment(KernelOp kernel, const Manifest& manifest);

}  // namespace wkvc::nest
