#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

bool has_shape(Value x, int64_t rows, int64_t columns) {
  auto shape = shape_of(x);
  return shape.size() == 2 && shape[0] == rows && shape[1] == columns;
}

LogicalResult verify_folded(Operation* op, Value x, bool part) {
  if (!is_folded(element_of(x))) return success();
  if (part)
    return op->emitOpError() << "takes a part of " << x.getType() << ", whose terms lie on both sides of its diagonal";
  if (shape_of(x)[0] == shape_of(x)[1]) return success();
  return op->emitOpError() << "has " << x.getType() << "; expected a square matrix";
}

LogicalResult expect_shape(Operation* op, Value x, int64_t rows, int64_t columns) {
  if (has_shape(x, rows, columns)) return success();
  return op->emitOpError() << "has " << x.getType() << " where " << rows << "x" << columns << " is expected";
}

LogicalResult verify_number(Operation* op, const char* what, uint64_t attribute, int64_t lo, int64_t hi) {
  int64_t number = signed_value(attribute);
  if (number >= lo && number <= hi) return success();
  return op->emitOpError() << what << " is " << number << "; expected " << lo << " to " << hi;
}

LogicalResult verify_finite(Operation* op, const llvm::APFloat& number) {
  if (number.isFinite()) return success();
  return op->emitOpError("needs a finite number");
}

LogicalResult verify_stored(Operation* op, Type dtype) {
  if (is_stored(dtype)) return success();
  return op->emitOpError() << "is stored as " << dtype << "; expected f32, f16 or bf16";
}

}  // namespace wkvc::warp
