// A kernel computes values in the program's order, and holds each in registers until its last reader.
#pragma once

#include <mlir/IR/Operation.h>

namespace wkvc {

// Moves an operation to before the first of its users, if any use it. All are of one block.
void move_to_first_user(mlir::Operation* op);

}  // namespace wkvc
