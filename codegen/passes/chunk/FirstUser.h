// Where an operation stands: a kernel goes in the program's order, and holds values in registers until they are read.
#pragma once

#include <mlir/IR/Operation.h>

namespace wkvc {

// Moves an operation to before the first of its users, if any use it. All are of one block.
void move_to_first_user(mlir::Operation* op);

}  // namespace wkvc
