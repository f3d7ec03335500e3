// What a recurrence holds as a whole: one state, one update, an output, and names that are unique and usable.
#include <map>

#include "codegen/rec/Dims.h"
#include "codegen/rec/Names.h"

namespace wkvc::rec {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

namespace {

template <class Op>
LogicalResult verify_single(RecurrenceOp recurrence, llvm::StringRef what) {
  auto ops = recurrence.getBody().getOps<Op>();
  if (ops.empty()) return recurrence.emitOpError() << "has no " << what << "; expected exactly one";
  auto second = std::next(ops.begin());
  if (second == ops.end()) return success();
  return (*second).emitOpError() << "is the second " << what << "; expected exactly one";
}

LogicalResult verify_name(mlir::Operation& op, std::map<llvm::StringRef, mlir::Operation*>& names) {
  const auto name = op.getAttrOfType<mlir::StringAttr>("name");
  if (!name) return success();
  if (const auto fault = name_fault(name.getValue())) return op.emitOpError() << *fault;
  mlir::Operation*& named = names[name.getValue()];
  // The value that is output may have the output's name.
  auto output = llvm::dyn_cast<OutputOp>(op);
  const bool is_free = named == nullptr || (output && output.getValue().getDefiningOp() == named);
  named = &op;
  if (is_free) return success();
  return op.emitOpError() << "reuses the name '" << name.getValue() << "': names are unique";
}

// MLIR checks this too, but only after the axes, which are followed from operand to operand, have been.
LogicalResult verify_order(mlir::Operation& op) {
  for (mlir::Value operand : op.getOperands())
    if (!operand.getDefiningOp()->isBeforeInBlock(&op)) return op.emitOpError("uses a value that is defined later");
  return success();
}

}  // namespace

LogicalResult RecurrenceOp::verifyRegions() {
  for (mlir::Operation& op : getBody().front())
    if (!llvm::isa_and_nonnull<RecDialect>(op.getDialect()))
      return op.emitOpError("does not belong in a rec.recurrence");
  for (mlir::Operation& op : getBody().front())
    if (failed(verify_order(op))) return failure();
  if (failed(verify_single<StateOp>(*this, "rec.state"))) return failure();
  if (failed(verify_single<UpdateOp>(*this, "rec.update"))) return failure();
  if (getBody().getOps<OutputOp>().empty()) return emitOpError("has no rec.output; expected at least one");
  std::map<llvm::StringRef, mlir::Operation*> names;
  for (mlir::Operation& op : getBody().front())
    if (failed(verify_name(op, names))) return failure();
  return verify_dims(*this);
}

}  // namespace wkvc::rec
