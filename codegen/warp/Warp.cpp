#include "codegen/warp/Warp.h"

#include <llvm/ADT/StringSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include "codegen/warp/WarpDialect.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/warp/WarpOps.cpp.inc"

using namespace mlir;

namespace wkvc::warp {

void WarpDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/warp/WarpOps.cpp.inc"
      >();
}

int64_t shared_bytes(MemRefType tile) {
  int64_t element = tile.getElementTypeBitWidth() / 8;
  if (tile.getRank() == 1) return tile.getDimSize(0) * element;
  return tile.getDimSize(0) * (tile.getDimSize(1) + kRowPadding) * element;
}

namespace {

// How many tiles a function of templates/ takes; -1: there is none of that name.
int arity(llvm::StringRef function) {
  return llvm::StringSwitch<int>(function)
      .Cases({"neg", "exp", "exp2", "log", "sigmoid", "tanh", "softplus", "relu", "sqrt", "reciprocal"}, 1)
      .Cases({"widen", "keep_valid", "cumsum", "row", "tril", "tril_strict", "unit_lower_inverse_f16"}, 1)
      .Cases({"unit_lower_inverse_bf16", "unit_lower_inverse_f32", "maximum", "add_constant", "mul_constant"}, 1)
      .Cases({"add", "sub", "mul", "diagonal_dot"}, 2)
      .Cases({"decayed_dot", "decayed_dot_strict"}, 4)
      .Default(-1);
}

llvm::ArrayRef<int64_t> shape_of(Value x) { return llvm::cast<ShapedType>(x.getType()).getShape(); }

}  // namespace

LogicalResult CallOp::verify() {
  int expected = arity(getFunction());
  if (expected < 0) return emitOpError("templates/ has no function \"") << getFunction() << "\"";
  if (static_cast<int>(getX().size()) != expected)
    return emitOpError("\"") << getFunction() << "\" takes " << expected << " tiles, not " << getX().size();
  return success();
}

LogicalResult MmaOp::verify() {
  auto x = shape_of(getX()), y = shape_of(getY()), acc = shape_of(getAcc());
  int64_t m = x[getXTransposed()], n = y[getYTransposed()];
  int64_t kx = x[1 - getXTransposed()], ky = y[1 - getYTransposed()];
  if (kx != ky) return emitOpError("contracts ") << kx << " with " << ky << " elements";
  if (acc[0] != m || acc[1] != n || shape_of(getResult()) != acc)
    return emitOpError("makes ") << m << "x" << n << ", the accumulator is " << getAcc().getType();
  return success();
}

LogicalResult KernelOp::verify() {
  if (getWarps() < 1 || getWarps() > 32) return emitOpError("a block has 1 to 32 warps, not ") << getWarps();
  LogicalResult result = success();
  int64_t shared = getSharedBytes();
  walk([&](Operation* op) {
    auto offset = op->getAttrOfType<IntegerAttr>("offset");
    if (!offset || op->getNumResults() != 1) return;
    int64_t stages = isa<RingOp>(op) ? cast<RingOp>(op).getStages() : 1;
    int64_t end = offset.getInt() + stages * shared_bytes(cast<MemRefType>(op->getResult(0).getType()));
    if (offset.getInt() < 0 || offset.getInt() % 16 || end > shared)
      result = op->emitOpError("bytes ") << offset.getInt() << " to " << end << " of " << shared
                                         << ": offsets are multiples of 16 inside the kernel's shared memory";
  });
  return result;
}

}  // namespace wkvc::warp
