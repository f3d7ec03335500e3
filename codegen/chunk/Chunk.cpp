#include "codegen/chunk/Chunk.h"

#include <mlir/IR/DialectImplementation.h>

#include <cmath>
#include <limits>

#include "codegen/rec/Limits.h"

#include "codegen/chunk/ChunkDialect.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/chunk/ChunkOps.cpp.inc"

using namespace mlir;

namespace wkvc::chunk {

void ChunkDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/chunk/ChunkOps.cpp.inc"
      >();
}

namespace {

bool has_shape(Value x, int64_t r, int64_t c) { return rows(x) == r && columns(x) == c; }

LogicalResult verify_broadcast(Operation* op, Value x, Value y, Value result) {
  auto joined = [](int64_t a, int64_t b) { return a == b || b == 1 ? a : a == 1 ? b : -1; };
  int64_t r = joined(rows(x), rows(y)), c = joined(columns(x), columns(y));
  if (has_shape(result, r, c)) return success();
  return op->emitOpError() << "operands " << x.getType() << " and " << y.getType() << " do not broadcast to "
                           << result.getType();
}

LogicalResult verify_finite(Operation* op, const llvm::APFloat& number) {
  if (number.isFinite()) return success();
  return op->emitOpError("needs a finite number");
}

LogicalResult verify_row_of(Operation* op, Value matrix, int64_t index) {
  if (index >= 0 && index < rows(matrix)) return success();
  return op->emitOpError("row ") << index << " of a matrix with " << rows(matrix) << " rows";
}

LogicalResult verify_half(Operation* op, int64_t half, int64_t tokens) {
  if (half >= 1 && half < tokens && llvm::isPowerOf2_64(static_cast<uint64_t>(half))) return success();
  return op->emitOpError() << "has half blocks of " << half << "; expected a power of two below " << tokens;
}

// Expects a dtype that values are stored in.
LogicalResult verify_dtype(Operation* op, llvm::StringRef dtype) {
  if (dtype == "f32" || dtype == "f16" || dtype == "bf16") return success();
  return op->emitOpError() << "has the dtype \"" << dtype << "\"; expected f32, f16 or bf16";
}

LogicalResult verify_foldable(Operation* op, Value x) {
  if (rows(x) == columns(x)) return success();
  return op->emitOpError() << "stores the low terms of " << x.getType()
                           << " behind its diagonal; expected a square matrix";
}

}  // namespace

// In f32 too.
LogicalResult ConstantOp::verify() {
  if (std::abs(getValue().convertToDouble()) <= std::numeric_limits<float>::max()) return success();
  return emitOpError("needs a finite number");
}

// Powers that a state of any size survives in f32.
static LogicalResult verify_exponent(Operation* state) {
  constexpr int64_t most = 64;
  if (std::abs(exponent_of(state)) <= most) return success();
  return state->emitOpError() << "has the exponent " << exponent_of(state) << "; expected -" << most << " to " << most;
}
LogicalResult StateOp::verify() { return verify_exponent(*this); }
LogicalResult SavedStateOp::verify() { return verify_exponent(*this); }

LogicalResult AtLeastOp::verify() { return verify_finite(*this, getBound()); }
LogicalResult ExceedsOp::verify() { return verify_finite(*this, getBound()); }
LogicalResult NotBelowOp::verify() { return verify_finite(*this, getBound()); }
LogicalResult InputOp::verify() {
  if (is_folded(element(getResult())) && (!getKept() || rows(getResult()) != columns(getResult())))
    return emitOpError("is ") << getResult().getType() << ", as square matrices that are kept alone can be";
  if (!getOfHead() || (getDim() == "1" && !getGradientOf() && !getKept() && !getShared())) return success();
  return emitOpError("is one number a head, as parameters of the dim \"1\" alone can be");
}
LogicalResult OutputOp::verify() {
  if (getOfHead() && (!getGradientOf() || getKept() || getShared() || columns(getX()) != 1))
    return emitOpError("is one number a head, as gradients of such parameters alone can be");
  if (getShared() && (!getGradientOf() || getKept()))
    return emitOpError("is shared, as gradients of inputs alone can be");
  if (getWhole() && (!getGradientOf() || getKept()))
    return emitOpError("is a sum over the parts of a head, as gradients of inputs alone can be");
  if (getKept() && getDtype() == LowerF16x2Type::word) return verify_foldable(*this, getX());
  return verify_dtype(*this, getDtype());
}
LogicalResult AccumulateOp::verify() { return verify_dtype(*this, getDtype()); }
LogicalResult UnitLowerInverseOp::verify() {
  if (rec::is_compute(getDtype())) return success();
  return emitOpError() << "has the dtype \"" << getDtype() << "\"; expected " << rec::computes_text;
}

LogicalResult AddOp::verify() { return verify_broadcast(*this, getX(), getY(), getResult()); }
LogicalResult SubOp::verify() { return verify_broadcast(*this, getX(), getY(), getResult()); }
LogicalResult MulOp::verify() { return verify_broadcast(*this, getX(), getY(), getResult()); }

LogicalResult WidenOp::verify() {
  if (has_shape(getResult(), rows(getX()), columns(getX()))) return success();
  return emitOpError("keeps the shape: ") << getX().getType() << " became " << getResult().getType();
}

llvm::SmallVector<llvm::SmallVector<llvm::StringRef>> products(RoundOp round) {
  llvm::SmallVector<llvm::SmallVector<llvm::StringRef>> all;
  if (!round.getBound() || round.getBound()->empty()) return all;
  all.emplace_back();
  for (auto name : round.getBound()->getAsValueRange<StringAttr>()) {
    if (name == kPlus)
      all.emplace_back();
    else
      all.back().push_back(name);
  }
  return all;
}

LogicalResult RoundOp::verify() {
  if (!has_shape(getResult(), rows(getX()), columns(getX())))
    return emitOpError("keeps the shape: ") << getX().getType() << " became " << getResult().getType();
  if (is_folded(element(getResult())) && failed(verify_foldable(*this, getX()))) return failure();
  if (static_cast<bool>(getBound()) != static_cast<bool>(getFactor()))
    return emitOpError("needs both or neither of bound and factor");
  if (!getBound()) return success();
  if (!may_have_scale(element(getResult()))) return emitOpError("only f16 operands carry a scale");
  if (getFactor()->isNegative()) return emitOpError("has a negative factor");
  if (llvm::any_of(products(*this), [](const auto& product) { return product.empty(); }))
    return emitOpError("has a bound with \"+\" beside nothing");
  return verify_finite(*this, *getFactor());
}

LogicalResult RowOp::verify() {
  if (failed(verify_row_of(*this, getX(), static_cast<int64_t>(getIndex())))) return failure();
  if (!has_shape(getResult(), 1, columns(getX()))) return emitOpError("gives one row of ") << getX().getType();
  return success();
}

LogicalResult AtRowOp::verify() {
  if (failed(verify_row_of(*this, getResult(), static_cast<int64_t>(getIndex())))) return failure();
  if (!has_shape(getX(), 1, columns(getResult()))) return emitOpError("takes one row of ") << getResult().getType();
  return success();
}

LogicalResult SumRowsOp::verify() {
  if (has_shape(getResult(), 1, columns(getX()))) return success();
  return emitOpError("gives one row of ") << getX().getType();
}

LogicalResult SumColumnsOp::verify() {
  if (has_shape(getResult(), rows(getX()), 1)) return success();
  return emitOpError("gives one column of ") << getX().getType();
}

LogicalResult DiagonalOp::verify() {
  if (rows(getX()) == columns(getX()) && has_shape(getResult(), rows(getX()), 1)) return success();
  return emitOpError("takes a square matrix and gives a column of its size");
}

LogicalResult DotOp::verify() {
  auto i = static_cast<int64_t>(getXDim()), j = static_cast<int64_t>(getYDim());
  if (i < 0 || i > 1 || j < 0 || j > 1) return emitOpError("contracts dimension 0 or 1");
  auto size = [](Value v, int64_t dim) { return dim ? columns(v) : rows(v); };
  if (size(getX(), i) != size(getY(), j))
    return emitOpError("contracts ") << size(getX(), i) << " with " << size(getY(), j) << " elements";
  if (!are_contracted(element(getX()), element(getY())))
    return emitOpError("operands must have one dtype, or f16 and f16x2, got ")
           << getX().getType() << " and " << getY().getType();
  if (!has_shape(getResult(), size(getX(), 1 - i), size(getY(), 1 - j)))
    return emitOpError("gives ") << size(getX(), 1 - i) << "x" << size(getY(), 1 - j) << ", not "
                                 << getResult().getType();
  return success();
}

LogicalResult ColumnDotsOp::verify() {
  if (getX().getType() != getY().getType())
    return emitOpError("operands must have one type, got ") << getX().getType() << " and " << getY().getType();
  if (has_shape(getResult(), 1, columns(getX()))) return success();
  return emitOpError("gives one row of ") << getX().getType();
}

LogicalResult DiagonalDotOp::verify() {
  int64_t C = rows(getX()), K = columns(getX());
  if (has_shape(getY(), C, K) && has_shape(getResult(), C, C)) return success();
  return emitOpError() << "needs two C×K operands and a C×C result, got " << getX().getType() << ", "
                       << getY().getType() << " and " << getResult().getType();
}

LogicalResult LastOfOtherHalfOp::verify() { return verify_half(*this, getHalf(), rows(getResult())); }
LogicalResult SumOfOtherHalfOp::verify() { return verify_half(*this, getHalf(), rows(getResult())); }
LogicalResult SelectHalvesOp::verify() { return verify_half(*this, getHalf(), rows(getResult())); }
LogicalResult LevelPairsOp::verify() { return verify_half(*this, getHalf(), rows(getResult())); }
LogicalResult UpperRowsOp::verify() { return verify_half(*this, getHalf(), rows(getResult())); }
LogicalResult LowerRowsOp::verify() { return verify_half(*this, getHalf(), rows(getResult())); }

}  // namespace wkvc::chunk
