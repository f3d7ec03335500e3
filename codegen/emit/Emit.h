// warp → CUDA C++ text that calls templates/. One operation of the warp dialect becomes one call; names are the
// recurrence's. The text is complete: its header comment holds the manifest that the runtime reads.
#pragma once

#include <string>

#include "codegen/warp/Warp.h"

namespace wkvc {

std::string emit_cuda(warp::BatchSumOp kernel);
std::string emit_cuda(warp::HeadSumOp kernel);
std::string emit_cuda(warp::CombineOp kernel);
std::string emit_cuda(warp::KernelOp kernel);  // throws UserError for names no C++ text can hold

}  // namespace wkvc
