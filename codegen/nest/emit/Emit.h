// A nest as CUDA C++ that calls templates/wkvc/nest.h.
#pragma once

#include <string>

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Returns the text of a kernel for a recurrence; throws UserError for one that is for none, and for names that no C++
// text can hold.
std::string emit_cuda(KernelOp kernel);

}  // namespace wkvc::nest
