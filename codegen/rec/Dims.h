#pragma once

#include "codegen/rec/Rec.h"

namespace wkvc::rec {

// Every value has the extents of its axes, and operations combine equal axes.
llvm::LogicalResult verify_dims(RecurrenceOp recurrence);

}  // namespace wkvc::rec
