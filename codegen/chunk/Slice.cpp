#include "codegen/chunk/Slice.h"

#include <llvm/ADT/DenseSet.h>

using namespace mlir;

namespace wkvc {

void slice(chunk::ProgramOp program) {
  llvm::DenseSet<Operation*> reads_state, feeds_state;
  Block& body = program.getBody().front();
  for (Operation& op : body) {
    bool depends = isa<chunk::StateOp>(op);
    for (Value operand : op.getOperands()) depends |= reads_state.contains(operand.getDefiningOp());
    if (depends) reads_state.insert(&op);
  }
  for (Operation& op : llvm::reverse(body)) {
    bool feeds = isa<chunk::UpdateOp>(op);
    for (Operation* user : op.getUsers()) feeds |= feeds_state.contains(user);
    if (feeds) feeds_state.insert(&op);
  }
  for (Operation& op : body) {
    const char* name = !reads_state.contains(&op) ? "prologue" : feeds_state.contains(&op) ? "core" : "epilogue";
    op.setAttr("slice", StringAttr::get(op.getContext(), name));
  }
}

}  // namespace wkvc
