// rec → CUDA C++ text of a kernel that goes through the sequence token by token, without chunks.
#pragma once

#include <string>

#include "codegen/compiler.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// The complete text of the forward kernel, manifest included. The warps of a block have 16 value rows of the state
// each, in registers, and compute in f32. Throws UserError for a recurrence whose values would have to cross between
// warps.
std::string emit_token_kernel(rec::RecurrenceOp recurrence, const Config& config);

}  // namespace wkvc
