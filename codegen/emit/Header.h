// The header comment of an emitted kernel: configuration, launch shape, map of shared memory, manifest.
#pragma once

#include <string>

#include "codegen/warp/Warp.h"
#include "runtime/manifest.h"

namespace wkvc {

Manifest manifest_of(warp::BatchSumOp kernel);
Manifest manifest_of(warp::CombineOp kernel);
Manifest manifest_of(warp::KernelOp kernel);  // throws UserError for a malformed list of tensors
std::string header_comment(warp::KernelOp kernel);

}  // namespace wkvc
