// The verifiers of operations on elements: which tiles they take, and of which extents.
#include "codegen/nest/Nest.h"
#include "runtime/base/plural.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

bool is_one_number(TileType tile) { return tile.isNumber() && tile.getElement().isF32(); }

// A vector of tokens' numbers.
bool is_of_tokens(TileType tile) {
  return tile.getRows() == 1 && tile.getLayout() == Layout::tokens && tile.getElement().isF32();
}

bool is_square(TileType tile, int64_t extent) { return tile.getRows() == extent && tile.getColumns() == extent; }

constexpr int64_t kBlocks = 64, kBlock = 16;  // extents of what is solved by blocks, and of a block

// The blocks on a diagonal, below each other.
bool are_blocks(TileType tile) {
  return tile.getRows() == kBlocks && tile.getColumns() == kBlock && tile.getLayout() == Layout::operand;
}

}  // namespace

LogicalResult ConstantOp::verify() {
  const TileType result = getResult().getType();
  if (is_one_number(result) || (getValue().isZero() && !result.isShared())) return success();
  return emitOpError() << "is a number, 1x1xf32, or zeros in registers, not " << result;
}

LogicalResult ElementwiseOp::verify() {
  const TileType result = getResult().getType();
  const size_t operands = getFunction() == Function::exp2 ? 1 : 2;
  if (getOperands().size() != operands)
    return emitOpError() << stringifyFunction(getFunction()) << " takes " << plural(operands, "operand") << ", not "
                         << getOperands().size();
  if (!result.getElement().isF32() || result.isShared())
    return emitOpError() << "makes f32 in registers, not " << result;
  int64_t rows = 1, columns = 1;
  for (Value operand : getOperands()) {
    const auto tile = cast<TileType>(operand.getType());
    rows = std::max(rows, tile.getRows()), columns = std::max(columns, tile.getColumns());
    if ((tile.getRows() != 1 && tile.getRows() != result.getRows()) ||
        (tile.getColumns() != 1 && tile.getColumns() != result.getColumns()))
      return emitOpError() << "takes tiles of the result's extents, or of 1, not " << tile << " for " << result;
    if ((tile.getLayout() == Layout::tokens) != (result.getLayout() == Layout::tokens) && !tile.isNumber())
      return emitOpError() << "takes tokens' numbers for tokens' numbers, not " << tile << " for " << result;
  }
  if (getFunction() == Function::maximum && !is_one_number(cast<TileType>(getOperands()[1].getType())))
    return emitOpError() << "maximum takes a number second, not " << getOperands()[1].getType();
  if (rows == result.getRows() && columns == result.getColumns()) return success();
  return emitOpError() << "has no operand of as many rows, or columns, as " << result;
}

LogicalResult ConvertOp::verify() {
  const TileType from = getTile().getType(), to = getResult().getType();
  if (from.getRows() == to.getRows() && from.getColumns() == to.getColumns() && !to.isShared()) return success();
  return emitOpError() << "makes a tile in registers of the same extents, not " << to << " of " << from;
}

LogicalResult GuardOp::verify() {
  const TileType tile = getTile().getType();
  if (tile.isShared() || tile.getRows() == 1 || tile.getColumns() == 1)
    return emitOpError() << "sees a matrix in registers, not " << tile;
  if (getTile().getDefiningOp<TransposeOp>())
    return emitOpError() << "sees a tile as it lies in registers: guard the tile before nest.transpose";
  return success();
}

LogicalResult TokensOp::verify() {
  if (!is_of_tokens(getResult().getType()))
    return emitOpError() << "makes a row of f32 as tokens, not " << getResult().getType();
  if (getAhead() == 0 || isa<SweepOp>((*this)->getParentOp())) return success();
  return emitOpError() << "ahead of a chunk stands in a sweep";
}

LogicalResult CumsumOp::verify() {
  if (is_of_tokens(getTile().getType())) return success();
  return emitOpError() << "sums a row of f32 as tokens, not " << getTile().getType();
}

LogicalResult ElementOp::verify() {
  const TileType from = getTile().getType();
  const bool is_row = is_of_tokens(from) || (from.getRows() == 1 && from.getLayout() == Layout::plain);
  if (!is_row || static_cast<int64_t>(getIndex()) >= from.getColumns() || !is_one_number(getResult().getType()))
    return emitOpError() << "is a number of a row, tokens or plain, not [" << getIndex() << "] of " << from;
  return success();
}

LogicalResult StackOp::verify() {
  const TileType result = getResult().getType();
  const bool fits = llvm::all_of(getRows().getTypes(), [&](Type row) {
    return is_of_tokens(cast<TileType>(row)) && cast<TileType>(row).getColumns() == result.getColumns();
  });
  if (fits && static_cast<int64_t>(getRows().size()) == result.getRows() && result.getLayout() == Layout::tokens)
    return success();
  return emitOpError() << "has a row of tokens' numbers for each row of " << result;
}

LogicalResult RowOp::verify() {
  const TileType from = getTile().getType(), to = getResult().getType();
  if (from.getLayout() == Layout::plain && to.getLayout() == Layout::plain && to.getRows() == 1 &&
      to.getColumns() == from.getColumns() && static_cast<int64_t>(getIndex()) < from.getRows())
    return success();
  return emitOpError() << "is a row of a plain tile, not [" << getIndex() << "] of " << from << " as " << to;
}

LogicalResult DecayedPairsOp::verify() {
  const TileType products = getProducts().getType(), sums = getSums().getType();
  const bool is_row = sums.getRows() == 1 && sums.getLayout() == Layout::plain;
  if (is_row && is_square(products, sums.getColumns()) && getResult().getType() == products) return success();
  return emitOpError() << "takes products of all pairs of tokens and a plain row of sums, not " << products << " and "
                       << sums;
}

LogicalResult SolveDiagonalOp::verify() {
  const TileType tile = getTile().getType();
  const bool are_two = getResults().size() == 2 && llvm::all_of(getResults().getTypes(), [](Type type) {
                         return are_blocks(cast<TileType>(type)) && cast<TileType>(type).getElement().isF16();
                       });
  if (is_square(tile, kBlocks) && tile.getLayout() == Layout::sums && are_two) return success();
  return emitOpError() << "makes 64x16xf16, operand, twice, of 64x64xf32, sums, not of " << tile;
}

LogicalResult DiagonalOp::verify() {
  const TileType numbers = getNumbers().getType(), result = getResult().getType();
  const bool is_column = numbers.getRows() == kBlocks && numbers.getColumns() == 1;
  if ((is_column || is_one_number(numbers)) && are_blocks(result) && result.getElement().isF32()) return success();
  return emitOpError() << "makes 64x16xf32, operand, of a column of 64 numbers or of one, not " << result << " of "
                       << numbers;
}

// Returns whether blocks on the diagonal are set next.
static bool goes_below_diagonal(Operation* user) {
  auto next = dyn_cast<SetBlocksOp>(user);
  return next && !next.getLevel();
}

LogicalResult SetBlocksOp::verify() {
  const TileType blocks = getBlocks().getType(), result = getResult().getType();
  const bool is_of_same = !getTile() || getTile().getType() == result;
  if (!llvm::all_of(getResult().getUsers(), [](Operation* user) { return isa<PutOp, SetBlocksOp>(user); }))
    return emitOpError() << "makes a tile that is put into a channel";
  if (getLevel() && !llvm::all_of(getResult().getUsers(), goes_below_diagonal))
    return emitOpError() << "of a level comes before the blocks on the diagonal, which it may store over";
  if (are_blocks(blocks) && is_square(result, kBlocks) && !result.isShared() && is_of_same &&
      blocks.getElement() == result.getElement())
    return success();
  return emitOpError() << "sets blocks, 64x16, of such a tile in registers as it makes, 64x64, not " << blocks << " of "
                       << result;
}

LogicalResult LevelOp::verify() {
  const TileType tile = getTile().getType();
  const auto rows = static_cast<int64_t>(getRows());
  if (is_square(tile, kBlocks) && tile.getLayout() == Layout::sums && (rows == kBlock || rows == kBlocks / 2))
    return success();
  return emitOpError() << "takes 16 or 32 rows of 64x64xf32, sums, not " << rows << " of " << tile;
}

}  // namespace wkvc::nest
