#include "codegen/lower/DropUnused.h"

#include <mlir/Interfaces/SideEffectInterfaces.h>

using namespace mlir;

namespace wkvc {

void drop_unused(chunk::ProgramOp program) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front()))) {
    bool source = isa<chunk::InputOp, chunk::ParameterOp, chunk::SavedStateOp>(op);
    if (isOpTriviallyDead(&op) || (source && op.use_empty())) op.erase();
  }
}

}  // namespace wkvc
