// Which programs and kernels of a text belong together.
#pragma once

#include <mlir/IR/BuiltinOps.h>

namespace wkvc {

// Throws UserError where a text has a program or kernel twice, or a plain one, which refuses what f16 does not hold,
// apart from the one that does what was refused. `placed`: the text is of the stage placed.
void check_pairs(mlir::ModuleOp module, bool placed);

}  // namespace wkvc
