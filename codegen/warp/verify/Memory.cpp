// What lies in shared memory, and what goes between it, registers and tensors.
#include "codegen/ir/Text.h"
#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

constexpr int64_t kMaxOffset = sm_90a.block.shared_bytes, kMaxStages = 16, kMaxPhases = 10000;
constexpr int64_t kMaxAhead = int64_t{sm_90a.most_teams()} * sm_90a.block.cluster;  // chunks of a round

LogicalResult verify_live(Operation* op, uint64_t from, uint64_t to) {
  if (failed(verify_number(op, "the first phase", from, 0, kMaxPhases))) return failure();
  return verify_number(op, "the last phase", to, signed_value(from), kMaxPhases);
}

}  // namespace

LogicalResult RingOp::verify() {
  if (failed(verify_folded(*this, getResult(), /*part=*/false))) return failure();
  if (getExchanged() && element_of(getResult()).getIntOrFloatBitWidth() != 16)
    return emitOpError() << "exchanges pieces of " << getType() << "; expected elements of 16 bits";
  if (failed(verify_number(*this, "the offset", getOffset(), 0, kMaxOffset))) return failure();
  return verify_number(*this, "the number of stages", getStages(), 1, kMaxStages);
}

LogicalResult BufferOp::verify() {
  if (failed(verify_folded(*this, getResult(), getSlabs().has_value()))) return failure();
  if (failed(verify_number(*this, "the offset", getOffset(), 0, kMaxOffset))) return failure();
  if (getScale() && failed(verify_number(*this, "the scale's offset", *getScale(), 0, kMaxOffset))) return failure();
  if (getScale() && !may_have_scale(element_of(getResult()))) return emitOpError("only f16 operands carry a scale");
  if (getSlabs() && !getScale()) return emitOpError("has slabs but no scales");
  return verify_live(*this, getFrom(), getTo());
}

LogicalResult FloatsOp::verify() {
  if (failed(verify_number(*this, "the offset", getOffset(), 0, kMaxOffset))) return failure();
  return verify_live(*this, getFrom(), getTo());
}

LogicalResult CopySavedOp::verify() {
  if (getNext() && (getAhead() || getFirstFrom())) return emitOpError("of the next group copies the state before it");
  return verify_number(*this, "ahead", getAhead(), 0, kMaxStages - 1);
}

LogicalResult CopyOp::verify() {
  if (getNext() && getAhead()) return emitOpError("is of the first chunk of what comes next: ahead 0");
  return verify_number(*this, "ahead", getAhead(), 0, kMaxAhead);
}
LogicalResult WaitCopiesOp::verify() {
  return verify_number(*this, "the number of pending copies", getPending(), 0, kMaxStages - 1);
}

// Whether all that reads the tile has it as the second operand of a contraction, or of columns with columns.
static bool is_second_operand(Value tile) {
  return llvm::all_of(tile.getUses(), [](OpOperand& use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return isa<ColumnDotsOp>(use.getOwner()) || (mma && &use == &mma.getYMutable());
  });
}

LogicalResult LoadOp::verify() {
  auto tile = shape_of(getTile());
  if (failed(verify_folded(*this, getTile(), getColumn() || getOwn() || getOwnRows() || getTransposed())))
    return failure();
  if (element_of(getTile()) != element_of(getResult()))
    return emitOpError() << "makes " << getResult().getType() << " of " << getTile().getType();
  if ((getColumn() ? 1 : 0) + getOwn() + getOwnRows() > 1)
    return emitOpError("loads the columns at an index, the warp's own, or its rows, only one of them");
  int64_t rows = getOwnRows() ? 16 : tile[0], columns = getColumn() ? slab_width(getColumn()) : getOwn() ? 16 : tile[1];
  if (getTransposed()) std::swap(rows, columns);
  if (is_of_columns(getResult()) && !is_second_operand(getResult()))
    return emitOpError(
        "of columns, transposed, is for contractions to take as their second operand, and for nothing else");
  return expect_shape(*this, getResult(), rows, columns);
}

LogicalResult StoreOp::verify() {
  if (failed(verify_folded(*this, getTile(), getColumn() || getOwnRows() || getOwnColumns()))) return failure();
  if (element_of(getTile()) != element_of(getX()))
    return emitOpError() << "stores " << getX().getType() << " to " << getTile().getType();
  if ((getColumn() ? 1 : 0) + getOwnRows() + getOwnColumns() > 1)
    return emitOpError("stores at a column, to own rows or to own columns, only one of them");
  auto tile = shape_of(getTile());
  if (getOwnRows()) return expect_shape(*this, getX(), 16, tile[1]);
  if (getOwnColumns()) return expect_shape(*this, getX(), 16, tile[0]);
  return expect_shape(*this, getX(), tile[0], getColumn() ? slab_width(getColumn()) : tile[1]);
}

LogicalResult LoadVectorOp::verify() {
  int64_t parts = getParts() ? signed_value(*getParts()) : 1, size = shape_of(getFrom())[0];
  if (parts < 1 || size % parts) return emitOpError() << parts << " parts of " << getFrom().getType();
  auto shape = shape_of(getResult());
  int64_t expected = getColumn() ? slab_width(getColumn()) : size / parts;
  if (getOf() && (getColumn() || getParts())) return emitOpError("of a chunk of the round is a whole row");
  if (std::min(shape[0], shape[1]) == 1 && std::max(shape[0], shape[1]) == expected) return success();
  return emitOpError() << "makes " << getResult().getType() << " where " << expected << " numbers are expected";
}

LogicalResult LoadJoinedOp::verify() { return expect_shape(*this, getResult(), 1, shape_of(getLast())[0]); }

LogicalResult StoreVectorOp::verify() {
  auto shape = shape_of(getX());
  int64_t count = shape[0] * shape[1], size = shape_of(getTo())[0];
  int64_t whole = getColumn() ? slab_width(getColumn()) : size;
  if (std::min(shape[0], shape[1]) == 1 && (getPart() ? size % count == 0 : count == whole)) return success();
  return emitOpError() << "stores " << getX().getType() << " to " << getTo().getType();
}

LogicalResult AddVectorOp::verify() {
  return expect_shape(*this, getX(), getColumn() ? 1 : 16, getColumn() ? slab_width(getColumn()) : 1);
}

LogicalResult ParameterOp::verify() {
  if (failed(verify_stored(*this, getDtype()))) return failure();
  return expect_shape(*this, getResult(), getColumn() ? 1 : 16, getColumn() ? slab_width(getColumn()) : 1);
}

LogicalResult LoadStagedOp::verify() {
  Type from = cast<TileType>(getStaged().getType()).getElementType(), to = cast<TileType>(getType()).getElementType();
  if (from == to) return success();
  return emitOpError() << "loads " << to << " of a state of " << from;
}

LogicalResult StoreOutputOp::verify() {
  if (failed(verify_stored(*this, getDtype()))) return failure();
  const int64_t columns = getColumn() ? slab_width(getColumn()) : 16;
  if (shape_of(getX())[getTransposed() ? 0 : 1] == columns) return success();
  return emitOpError() << "stores " << columns << " columns, not " << getX().getType();
}

LogicalResult StoreMatrixOp::verify() {
  if (!is_folded(getDtype()) && failed(verify_stored(*this, getDtype()))) return failure();
  if (is_folded(getDtype()) ? element_of(getX()) != getDtype() : !element_of(getX()).isF32())
    return emitOpError() << "stores " << getX().getType() << " as " << dtype_text(getDtype());
  auto shape = shape_of(getX());
  if (shape[0] == shape[1]) return success();
  return emitOpError() << "stores a square matrix, not " << getX().getType();
}

}  // namespace wkvc::warp
