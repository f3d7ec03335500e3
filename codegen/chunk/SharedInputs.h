// Inputs that heads may share (--shared).
#pragma once

#include <mlir/IR/BuiltinOps.h>

#include <string>
#include <vector>

#include "codegen/rec/Rec.h"

namespace wkvc {

// Throws UserError for a name of no input.
void expect_inputs(rec::RecurrenceOp recurrence, const std::vector<std::string>& shared);

// Marks the inputs of these names in all chunk programs.
void share_inputs(mlir::ModuleOp module, const std::vector<std::string>& shared);

}  // namespace wkvc
