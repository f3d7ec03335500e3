// Places as attributes of a program's operations, which are text of the stage placed.
#pragma once

#include <string>

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Returns whether a program's operations have places.
bool is_placed(chunk::ProgramOp program);

// Throws UserError where an operation has a place already, though its program is of the stage chunk.
void expect_no_places(chunk::ProgramOp program);

// Returns the places that a program's attributes hold. Throws UserError where one is missing.
Placement read_placement(chunk::ProgramOp program);
void write_placement(const Placement& placement);  // to the program's attributes

// Returns what messages call an operation: its name, or which operation it is.
std::string called(mlir::Operation* op);

}  // namespace wkvc
