#include "codegen/chunk/DropUnused.h"

#include <mlir/Interfaces/SideEffectInterfaces.h>

using namespace mlir;

namespace wkvc {

void drop_dead_values(chunk::ProgramOp program) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op)) op.erase();
}

void drop_unused(chunk::ProgramOp program) {
  drop_dead_values(program);
  for (Operation& op : llvm::make_early_inc_range(program.getBody().front()))
    if (isa<chunk::InputOp, chunk::ParameterOp, chunk::SavedStateOp>(op) && op.use_empty()) op.erase();
}

}  // namespace wkvc
