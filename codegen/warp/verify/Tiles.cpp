// Operations on tiles in registers.
#include <llvm/ADT/StringExtras.h>

#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

LogicalResult UnitLowerInverseOp::verify() {
  auto x = shape_of(getX());
  if (x[0] != x[1] || x[0] == 1) return emitOpError() << "takes a square tile, not " << getX().getType();
  if (!rec::is_compute(getDtype()))
    return emitOpError() << "has the dtype \"" << getDtype() << "\"; expected " << rec::computes_text;
  if (int64_t floats = cast<TileType>(getScratch().getType()).getDimSize(0); floats < kInverseFloats)
    return emitOpError() << "has a scratch of " << floats << " floats; expected " << kInverseFloats;
  return success();
}

LogicalResult DecayingOp::verify() {
  return getRow() ? expect_shape(*this, getRow(), 1, shape_of(getX())[1]) : success();
}

LogicalResult TransposeOp::verify() {
  if (element_of(getX()) != element_of(getResult()))
    return emitOpError("keeps the dtype, got ") << getResult().getType();
  if (is_folded(element_of(getX())))
    return emitOpError() << "takes " << getX().getType() << ", whose low terms would lie where high ones are read";
  return expect_shape(*this, getResult(), shape_of(getX())[1], shape_of(getX())[0]);
}

LogicalResult WidenOp::verify() { return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]); }

// Instructions take tiles that lie so; for mma.sync, those in shared memory are loaded on the way.
static LogicalResult expect_layout(MmaOp op, llvm::StringRef what, Value tile, Layout layout) {
  const Layout given = cast<TileType>(tile.getType()).getLayout();
  if (given == layout || (!op.isByGroups() && lies_in_shared_memory(given))) return success();
  return op.emitOpError() << "'" << llvm::StringRef(instructions_of(op.getFamily()).name) << "' takes " << what
                          << " as " << llvm::StringRef(word_of(layout)) << ", not " << llvm::StringRef(word_of(given));
}

static LogicalResult verify_layouts(MmaOp op) {
  const InstructionFamily& family = instructions_of(op.getFamily());
  if (failed(expect_layout(op, "x", op.getX(), family.x)) || failed(expect_layout(op, "y", op.getY(), family.y)))
    return failure();
  return expect_layout(op, "its sum", op.getAcc(), family.sums);
}

static LogicalResult verify_by_groups(MmaOp op) {
  auto buffer = op.getY().getDefiningOp<BufferOp>();
  const bool has_scales = op.getXScale() || op.getYScale() || has_scale(op.getX()) || op.getInScale() ||
                          op.getSameScale() || op.getNewScale() || (buffer && (buffer.getScale() || buffer.getSlabs()));
  if (!buffer || op.getYColumn() || has_scales) return op.emitOpError("by groups takes a whole buffer, without scales");
  auto acc = shape_of(op.getAcc());
  if (acc[0] != 16 || acc[1] % group_columns(op.getYTransposed()))
    return op.emitOpError() << "by groups makes 16 rows by multiples of " << group_columns(op.getYTransposed())
                            << ", not " << op.getAcc().getType();
  return success();
}

// The operand as it is contracted is size x size.
static LogicalResult verify_triangle(MmaOp op, std::optional<Triangle> triangle, int64_t size) {
  if (!triangle) return success();
  if (op.getXTriangle() && op.getYTriangle()) return op.emitOpError("takes one of its operands for triangular");
  if (op.isByGroups()) return op.emitOpError("takes no triangular operands by groups");
  const int64_t length = shape_of(op.getX())[1 - op.getXTransposed()];
  if (size == length) return success();
  return op.emitOpError() << "has a triangular operand of " << size << "x" << length << "; expected a square one";
}

// Names of values, transposed or not: they stand in a comment of the text.
static LogicalResult verify_factors(MmaOp op) {
  const auto is_factor = [](llvm::StringRef text) {
    text.consume_back("^T");
    return !text.empty() && llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  };
  auto factors = op.getFactors();
  if (!factors || (factors->size() == 2 && llvm::all_of(factors->getAsValueRange<StringAttr>(), is_factor)))
    return success();
  return op.emitOpError("factors are two names of values, each with ^T behind it where it is transposed, got ")
         << *factors;
}

LogicalResult MmaOp::verify() {
  if (failed(verify_factors(*this))) return failure();
  auto x = shape_of(getX()), acc = shape_of(getAcc());
  llvm::SmallVector<int64_t> y(shape_of(getY()));
  if (getYColumn()) y[1] = slab_width(getYColumn());
  if (!are_contracted(element_of(getX()), element_of(getY())))
    return emitOpError("operands must have one dtype, or f16 and f16x2, got ")
           << getX().getType() << " and " << getY().getType();
  if (failed(verify_folded(*this, getX(), /*part=*/false)) ||
      failed(verify_folded(*this, getY(), static_cast<bool>(getYColumn()))))
    return failure();
  if ((getXTransposed() && is_in_registers(getX())) || (getYTransposed() && is_in_registers(getY())))
    return emitOpError("only operands in shared memory are read transposed");
  auto carries = [&](Value v) { return is_in_registers(v) && !v.getDefiningOp<LoadOp>(); };
  if ((getXScale() && carries(getX())) || (getYScale() && carries(getY())))
    return emitOpError("operands in registers carry their scales themselves");
  int64_t m = x[getXTransposed()], n = y[getYTransposed()];
  int64_t kx = x[1 - getXTransposed()], ky = y[1 - getYTransposed()];
  if (kx != ky) return emitOpError("contracts ") << kx << " with " << ky << " elements";
  if (acc[0] != m || acc[1] != n)
    return emitOpError("makes ") << m << "x" << n << ", the accumulator is " << getAcc().getType();
  if (failed(verify_triangle(*this, getXTriangle(), m)) || failed(verify_triangle(*this, getYTriangle(), n)))
    return failure();
  if (failed(verify_layouts(*this))) return failure();
  return isByGroups() ? verify_by_groups(*this) : success();
}

LogicalResult ColumnDotsOp::verify() {
  const bool shared = is_in_shared_memory(getX());
  if (element_of(getX()) != element_of(getY()) || shape_of(getX()) != shape_of(getY()) ||
      shared != is_in_shared_memory(getY()))
    return emitOpError("operands must have one type, got ") << getX().getType() << " and " << getY().getType();
  if (shared != static_cast<bool>(getColumn()) || (!shared && (getXScale() || getYScale())))
    return emitOpError("takes shared operands at a column, or all of what registers hold, without scales");
  if (!shared && !(is_of_columns(getX()) && is_of_columns(getY())))
    return emitOpError("takes of what registers hold columns alone: what warp.load gives of those, transposed");
  if (getRows() && (shared || shape_of(getRows())[1] != shape_of(getX())[0]))
    return emitOpError("adds the rows of a tile beside as many columns that registers hold");
  return expect_shape(*this, getResult(), 1, shared ? slab_width(getColumn()) : shape_of(getX())[0]);
}

}  // namespace wkvc::warp
