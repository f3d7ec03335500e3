// The manifest of a kernel that goes through the sequence token by token.
#pragma once

#include "codegen/compiler.h"
#include "codegen/rec/Rec.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

// Returns sizes, tensors and configuration of the forward kernel. Throws UserError for a name no C++ text can hold.
Manifest token_manifest(rec::RecurrenceOp recurrence, const Config& config);

}  // namespace wkvc
