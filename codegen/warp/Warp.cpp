#include "codegen/warp/Warp.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include <cmath>
#include <numeric>

#include "codegen/rec/Limits.h"
#include "codegen/warp/Accesses.h"
#include "codegen/warp/Rules.h"

using namespace mlir;

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

// tf32 lies as f32 does.
static int64_t padded_bytes(MemRefType tile) {
  const int64_t element_bytes = tile.getElementType().isTF32() ? 4 : tile.getElementTypeBitWidth() / 8;
  return tile.getDimSize(0) * (tile.getDimSize(1) + kRowPadding) * element_bytes;
}

int64_t ring_bytes(MemRefType tile, bool exchanged) {
  return exchanged ? tile.getNumElements() * tile.getElementTypeBitWidth() / 8 : padded_bytes(tile);
}

int64_t shared_bytes(MemRefType tile) {
  if (tile.getRank() == 1) return tile.getDimSize(0) * tile.getElementTypeBitWidth() / 8;
  if (tile.getElementTypeBitWidth() > 16) return padded_bytes(tile);
  // In pieces of 16 rows by 8 columns, a row's bytes apart if they may be stored in strips.
  return tile.getNumElements() / 16 * (tile.getDimSize(0) < 128 ? 16 + 1 : 16) * 2;
}

int64_t shared_bytes(RingOp ring) {
  return static_cast<int64_t>(ring.getStages()) * ring_bytes(cast<MemRefType>(ring.getType()), ring.getExchanged());
}

int64_t shared_bytes(StagedOp staged) {
  auto type = cast<MemRefType>(staged.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

bool is_in_strips(Operation* op) {
  auto slabs = dyn_cast<SlabsOp>(op->getParentOp());
  return slabs && slabs.getStrips();
}

int64_t slab_width(SlabsOp slabs) { return static_cast<int64_t>(slabs.getStrips().value_or(16)); }

int64_t slab_width(Value column) {
  if (auto share = column.getDefiningOp<ShareOp>()) return signed_value(share.getWidth());
  auto argument = dyn_cast<BlockArgument>(column);
  auto slabs = argument ? dyn_cast_or_null<SlabsOp>(argument.getOwner()->getParentOp()) : SlabsOp();
  return slabs ? slab_width(slabs) : 16;
}

bool has_scale(Value operand) {
  if (operand.getDefiningOp<RoundBesideOp>()) return true;
  if (auto round = operand.getDefiningOp<RoundOp>()) return has_scale(round);
  auto buffer = operand.getDefiningOp<BufferOp>();
  return buffer && buffer.getScale() && !buffer.getSlabs();
}

bool has_scale(RoundOp round) { return round.getScale() || round.getOwn() || round.getInScale() || round.getAsIs(); }

int64_t scale_bytes(BufferOp buffer) {
  if (!buffer.getSlabs()) return sizeof(float);
  int64_t slabs = cast<MemRefType>(buffer.getType()).getDimSize(*buffer.getSlabs() == "rows" ? 0 : 1) / 16;
  return slabs * static_cast<int64_t>(sizeof(float));
}

namespace {

//===- Shapes ----------------------------------------------------------------------------------------------------===//

llvm::ArrayRef<int64_t> shape_of(Value x) { return llvm::cast<ShapedType>(x.getType()).getShape(); }

bool has_shape(Value x, int64_t rows, int64_t columns) {
  auto shape = shape_of(x);
  return shape.size() == 2 && shape[0] == rows && shape[1] == columns;
}

bool is_stored(Type element) { return element.isF32() || element.isF16() || element.isBF16(); }

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

//===- Calls -----------------------------------------------------------------------------------------------------===//

enum class Form {
  none,
  elementwise,
  square,
  row,
  at_row,
  sum,
  diagonal,
  constant,
  binary,
  shift,
  diagonal_dot,
  level,
  select_halves
};

Form form_of(llvm::StringRef function) {
  return llvm::StringSwitch<Form>(function)
      .Cases({"neg", "exp", "exp2", "log", "sigmoid", "tanh", "softplus", "relu", "sqrt", "reciprocal"},
             Form::elementwise)
      .Cases({"zero_if_nan", "widen", "keep_valid", "keep_valid_columns", "offset"}, Form::elementwise)
      .Cases({"cumsum", "reverse_cumsum", "exclusive_cumsum", "reverse_exclusive_cumsum"}, Form::elementwise)
      .Cases({"sum_rows", "sum_columns"}, Form::sum)
      .Case("diagonal_column", Form::diagonal)
      .Case("at_row", Form::at_row)
      .Cases({"tril", "tril_strict"}, Form::square)
      .Case("row", Form::row)
      .Cases({"maximum", "greater_than", "not_below", "add_constant", "mul_constant"}, Form::constant)
      .Cases({"add", "sub", "mul"}, Form::binary)
      .Case("shift_rows", Form::shift)
      .Case("diagonal_dot", Form::diagonal_dot)
      .Cases({"level_pairs", "upper_rows", "lower_rows", "last_of_other_half", "sum_of_other_half"}, Form::level)
      .Case("select_halves", Form::select_halves)
      .Default(Form::none);
}

bool of_level(Form form) { return form == Form::level || form == Form::select_halves; }
bool takes_constant(Form form) {
  return form == Form::row || form == Form::at_row || form == Form::constant || of_level(form);
}
bool takes_shared(Form form) { return form == Form::diagonal_dot; }
size_t arity(Form form) {
  return form == Form::binary || form == Form::shift || form == Form::diagonal_dot || form == Form::select_halves ? 2
                                                                                                                  : 1;
}

LogicalResult verify_operands(CallOp op, Form form) {
  if (op.getX().size() != arity(form))
    return op.emitOpError("\"") << op.getFunction() << "\" takes " << arity(form) << " tiles, not " << op.getX().size();
  for (Value x : op.getX())
    if (isa<MemRefType>(x.getType()) != takes_shared(form))
      return op.emitOpError("\"") << op.getFunction() << "\" takes tiles in "
                                  << (takes_shared(form) ? "shared memory" : "registers");
  bool widens = op.getFunction() == "widen";
  if (!takes_shared(form) && !widens && !llvm::all_of(op.getX(), [](Value x) { return element_of(x).isF32(); }))
    return op.emitOpError("\"") << op.getFunction() << "\" takes tiles of f32";
  if (op.getConstant().has_value() != takes_constant(form))
    return op.emitOpError("\"") << op.getFunction() << "\" takes " << (takes_constant(form) ? "a" : "no")
                                << " constant";
  return op.getConstant() ? verify_finite(op, *op.getConstant()) : success();
}

// `matrix` has the row, `row` is it.
LogicalResult verify_row(CallOp op, Value matrix, Value row) {
  auto x = shape_of(matrix);
  double index = op.getConstant()->convertToFloat();
  if (index < 0 || index >= static_cast<double>(x[0]) || index != std::floor(index))
    return op.emitOpError("row ") << index << " of a tile with " << x[0] << " rows";
  return expect_shape(op, row, 1, x[1]);
}

// The constant is half the rows of a block.
LogicalResult verify_level(CallOp op) {
  auto x = shape_of(op.getX()[0]);
  double half = op.getConstant()->convertToFloat();
  int exponent = 0;
  if (half < 1 || half >= static_cast<double>(x[0]) || std::frexp(half, &exponent) != 0.5)
    return op.emitOpError("half blocks of ") << half << "; expected a power of two below " << x[0];
  if (op.getFunction() == "level_pairs" && x[0] != x[1])
    return op.emitOpError("\"level_pairs\" takes a square tile, not ") << op.getX()[0].getType();
  for (Value y : op.getX())
    if (failed(expect_shape(op, y, x[0], x[1]))) return failure();
  return expect_shape(op, op.getResult(), x[0], x[1]);
}

LogicalResult verify_binary(CallOp op) {
  auto x = shape_of(op.getX()[0]), y = shape_of(op.getX()[1]);
  auto joined = [](int64_t a, int64_t b) { return a == b || b == 1 ? a : a == 1 ? b : -1; };
  if (has_shape(op.getResult(), joined(x[0], y[0]), joined(x[1], y[1]))) return success();
  return op.emitOpError() << op.getX()[0].getType() << " and " << op.getX()[1].getType() << " do not broadcast to "
                          << op.getResult().getType();
}

LogicalResult verify_shapes(CallOp op, Form form) {
  auto x = shape_of(op.getX()[0]);
  if (form == Form::row) return verify_row(op, op.getX()[0], op.getResult());
  if (form == Form::at_row) return verify_row(op, op.getResult(), op.getX()[0]);
  if (form == Form::diagonal) return expect_shape(op, op.getResult(), x[0], 1);
  if (form == Form::sum)
    return op.getFunction() == "sum_rows" ? expect_shape(op, op.getResult(), 1, x[1])
                                          : expect_shape(op, op.getResult(), x[0], 1);
  if (of_level(form)) return verify_level(op);
  if (form == Form::binary) return verify_binary(op);
  if (form == Form::shift && failed(expect_shape(op, op.getX()[1], 1, x[1]))) return failure();
  if (takes_shared(form)) {
    for (Value y : op.getX())
      if (failed(expect_shape(op, y, x[0], x[1]))) return failure();
    return expect_shape(op, op.getResult(), x[0], x[0]);
  }
  if (form == Form::square && x[0] != x[1])
    return op.emitOpError("\"") << op.getFunction() << "\" takes a square tile, not " << op.getX()[0].getType();
  return expect_shape(op, op.getResult(), x[0], x[1]);
}

}  // namespace

bool is_in_strips(llvm::StringRef function) {
  switch (form_of(function)) {
    case Form::elementwise:
      return !llvm::is_contained({"keep_valid_columns", "offset"}, function);
    case Form::sum:
      return function == "sum_columns";
    case Form::level:
      return !llvm::is_contained({"level_pairs", "sum_of_other_half"}, function);
    case Form::row:
    case Form::constant:
    case Form::binary:
    case Form::shift:
    case Form::select_halves:
      return true;
    default:
      return false;
  }
}

LogicalResult CallOp::verify() {
  Form form = form_of(getFunction());
  if (form == Form::none) return emitOpError("templates/ has no function \"") << getFunction() << "\"";
  if (failed(verify_operands(*this, form))) return failure();
  return verify_shapes(*this, form);
}

LogicalResult TimesUnitOp::verify() { return getFactor() ? verify_finite(*this, *getFactor()) : success(); }
LogicalResult PlusExponentOp::verify() { return getNumber() ? verify_finite(*this, *getNumber()) : success(); }
LogicalResult TimesPowerOp::verify() { return verify_number(*this, "its exponent", getExponent(), -64, 64); }

LogicalResult UnitLowerInverseOp::verify() {
  auto x = shape_of(getX());
  if (x[0] != x[1] || x[0] == 1) return emitOpError() << "takes a square tile, not " << getX().getType();
  if (!rec::is_compute(getDtype()))
    return emitOpError() << "has the dtype \"" << getDtype() << "\"; expected " << rec::computes_text;
  if (int64_t floats = cast<MemRefType>(getScratch().getType()).getDimSize(0); floats < kInverseFloats)
    return emitOpError() << "has a scratch of " << floats << " floats; expected " << kInverseFloats;
  return success();
}

LogicalResult RoundOp::verify() {
  if ((getScale() ? 1 : 0) + getOwn() + getInScale() + getAsIs() > 1)
    return emitOpError("has more than one of a scale given, one of its own and the one that x carries");
  if ((getSlope() && !getInScale()) || !getSlope() != !getOffset())
    return emitOpError("has bounds of other operands, slope and offset, only in the scale that x carries");
  if (has_scale(*this) && !element_of(getResult()).isF16()) return emitOpError("only f16 operands carry a scale");
  return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]);
}

LogicalResult DecayingOp::verify() {
  return getRow() ? expect_shape(*this, getRow(), 1, shape_of(getX())[1]) : success();
}

LogicalResult WithScaleOp::verify() {
  if (shape_of(getX())[0] > 1 && shape_of(getX())[1] > 1) return success();
  return emitOpError("takes a tile, not ") << getX().getType();
}

LogicalResult WidenOverOp::verify() {
  return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]);
}

LogicalResult TransposeOp::verify() {
  if (element_of(getX()) != element_of(getResult()))
    return emitOpError("keeps the dtype, got ") << getResult().getType();
  return expect_shape(*this, getResult(), shape_of(getX())[1], shape_of(getX())[0]);
}

LogicalResult WidenOp::verify() { return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]); }

int64_t group_columns(bool transposed) {
  return transposed ? sm_90a.group_mma.columns_transposed : sm_90a.group_mma.columns;
}

static LogicalResult verify_by_groups(MmaOp op) {
  auto buffer = op.getY().getDefiningOp<BufferOp>();
  const bool has_scales = op.getXScale() || op.getYScale() || has_scale(op.getX()) || op.getInScale() ||
                          op.getSameScale() || op.getNewScale() || (buffer && (buffer.getScale() || buffer.getSlabs()));
  if (!isa<VectorType>(op.getX().getType()) || !buffer || op.getYColumn() || has_scales)
    return op.emitOpError("by groups takes x in registers and a whole buffer, without scales");
  auto acc = shape_of(op.getAcc());
  if (element_of(op.getY()).getIntOrFloatBitWidth() != 16 || acc[0] != 16 ||
      acc[1] % group_columns(op.getYTransposed()))
    return op.emitOpError() << "by groups makes 16 rows by multiples of " << group_columns(op.getYTransposed())
                            << " of operands of 16 bits, not " << op.getAcc().getType() << " of "
                            << op.getY().getType();
  return success();
}

// The operand as it is contracted is size x size.
static LogicalResult verify_triangle(MmaOp op, std::optional<llvm::StringRef> triangle, int64_t size) {
  if (!triangle) return success();
  if (*triangle != "lower" && *triangle != "upper")
    return op.emitOpError() << "has the triangle \"" << *triangle << "\"; expected \"lower\" or \"upper\"";
  if (op.getXTriangle() && op.getYTriangle()) return op.emitOpError("takes one of its operands for triangular");
  if (op.getByGroups()) return op.emitOpError("takes no triangular operands by groups");
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
  if (element_of(getX()) != element_of(getY()))
    return emitOpError("operands must have one dtype, got ") << getX().getType() << " and " << getY().getType();
  auto in_registers = [](Value v) { return isa<VectorType>(v.getType()); };
  if ((getXTransposed() && in_registers(getX())) || (getYTransposed() && in_registers(getY())))
    return emitOpError("only operands in shared memory are read transposed");
  auto carries = [&](Value v) { return in_registers(v) && !v.getDefiningOp<LoadOp>(); };
  if ((getXScale() && carries(getX())) || (getYScale() && carries(getY())))
    return emitOpError("operands in registers carry their scales themselves");
  int64_t m = x[getXTransposed()], n = y[getYTransposed()];
  int64_t kx = x[1 - getXTransposed()], ky = y[1 - getYTransposed()];
  if (kx != ky) return emitOpError("contracts ") << kx << " with " << ky << " elements";
  if (acc[0] != m || acc[1] != n)
    return emitOpError("makes ") << m << "x" << n << ", the accumulator is " << getAcc().getType();
  if (failed(verify_triangle(*this, getXTriangle(), m)) || failed(verify_triangle(*this, getYTriangle(), n)))
    return failure();
  return getByGroups() ? verify_by_groups(*this) : success();
}

//===- Shared memory ---------------------------------------------------------------------------------------------===//

namespace {

constexpr int64_t kMaxOffset = sm_90a.block.shared_bytes, kMaxStages = 16, kMaxPhases = 10000;
constexpr int64_t kMaxAhead = int64_t{sm_90a.most_teams()} * sm_90a.block.cluster;  // chunks of a round

LogicalResult verify_live(Operation* op, uint64_t from, uint64_t to) {
  if (failed(verify_number(op, "the first phase", from, 0, kMaxPhases))) return failure();
  return verify_number(op, "the last phase", to, signed_value(from), kMaxPhases);
}

}  // namespace

LogicalResult RingOp::verify() {
  if (getExchanged() && element_of(getResult()).getIntOrFloatBitWidth() != 16)
    return emitOpError() << "exchanges pieces of " << getType() << "; expected elements of 16 bits";
  if (failed(verify_number(*this, "the offset", getOffset(), 0, kMaxOffset))) return failure();
  return verify_number(*this, "the number of stages", getStages(), 1, kMaxStages);
}

LogicalResult BufferOp::verify() {
  if (failed(verify_number(*this, "the offset", getOffset(), 0, kMaxOffset))) return failure();
  if (getScale() && failed(verify_number(*this, "the scale's offset", *getScale(), 0, kMaxOffset))) return failure();
  if (getScale() && !element_of(getResult()).isF16()) return emitOpError("only f16 operands carry a scale");
  if (getSlabs() && *getSlabs() != "rows" && *getSlabs() != "columns")
    return emitOpError() << "has slabs of \"" << *getSlabs() << "\"; expected rows or columns";
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

LogicalResult ScaleForOp::verify() {
  if (getSlots().empty()) return emitOpError("needs the maxima of at least one tensor");
  if (auto counts = getCounts()) {
    bool positive = llvm::all_of(*counts, [](int64_t count) { return count > 0; });
    if (!positive ||
        std::accumulate(counts->begin(), counts->end(), int64_t{0}) != static_cast<int64_t>(getSlots().size()))
      return emitOpError("needs counts above 0 that add up to its slots");
  }
  if (getFactor().isNegative()) return emitOpError("has a negative factor");
  return verify_finite(*this, getFactor());
}

LogicalResult OwnScaleOp::verify() {
  if (getFactor().isNegative()) return emitOpError("has a negative factor");
  return verify_finite(*this, getFactor());
}

LogicalResult ScaleOfOp::verify() {
  if (auto buffer = getX().getDefiningOp<BufferOp>(); buffer && buffer.getScale() && !buffer.getSlabs())
    return success();
  return emitOpError("takes a buffer with one scale");
}

static LogicalResult verify_one_number(Operation* op, Value floats) {
  if (shape_of(floats)[0] == 1) return success();
  return op->emitOpError() << "takes one float, not " << floats.getType();
}

LogicalResult RoundBesideOp::verify() {
  auto round = getState().getDefiningOp<RoundOp>();
  if (!round || !has_scale(round)) return emitOpError("takes a state that was rounded with a scale");
  if (!element_of(getResult()).isF16()) return emitOpError("only f16 operands carry a scale");
  const bool half = element_of(getX()).isF16(), loaded = getX().getDefiningOp<LoadOp>();
  if (getScale() ? !half || !loaded : !element_of(getX()).isF32() && !(half && has_scale(getX())))
    return emitOpError("takes f32, f16 that carries a scale, or f16 that was loaded and the scale given");
  return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]);
}

LogicalResult LeaveScaleOp::verify() {
  if (!has_scale(getX())) return emitOpError("takes an operand that was rounded with a scale");
  return verify_one_number(*this, getTo());
}

LogicalResult BoundOp::verify() {
  if (getFactor().isNegative()) return emitOpError("has a negative factor");
  return verify_finite(*this, getFactor());
}

LogicalResult StoreNumberOp::verify() { return verify_one_number(*this, getTo()); }
LogicalResult LoadNumberOp::verify() { return verify_one_number(*this, getFrom()); }

bool is_of_columns(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  return load && load.getColumn() && load.getTransposed();
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
  if (getOf() && *getOf() != "first" && *getOf() != "last")
    return emitOpError() << "is of the \"" << *getOf() << "\" chunk; expected \"first\" or \"last\"";
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

LogicalResult BatchSumOp::verify() {
  if (!is_stored(getDtype())) return emitOpError() << "is stored as " << getDtype() << "; expected f32, f16 or bf16";
  if (getDim() == "1" && getSegments() != 1)
    return emitOpError() << "sums numbers of " << getSegments() << " segments; expected those of tokens";
  if (getDim() == "K" || getDim() == "V" || getDim() == "1") return success();
  return emitOpError() << "sums over \"" << getDim() << "\"; expected \"K\", \"V\" or \"1\"";
}

LogicalResult HeadSumOp::verify() {
  if (!is_stored(getDtype())) return emitOpError() << "is stored as " << getDtype() << "; expected f32, f16 or bf16";
  if (getDim() == "K" || getDim() == "V" || getDim() == "1") return success();
  return emitOpError() << "sums over \"" << getDim() << "\"; expected \"K\", \"V\" or \"1\"";
}

//===- Global memory ---------------------------------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  if (!is_stored(getDtype())) return emitOpError() << "is stored as " << getDtype() << "; expected f32, f16 or bf16";
  return expect_shape(*this, getResult(), getColumn() ? 1 : 16, getColumn() ? slab_width(getColumn()) : 1);
}

LogicalResult LoadStagedOp::verify() {
  Type from = cast<MemRefType>(getStaged().getType()).getElementType(),
       to = cast<VectorType>(getType()).getElementType();
  if (from == to) return success();
  return emitOpError() << "loads " << to << " of a state of " << from;
}

LogicalResult StoreOutputOp::verify() {
  if (!is_stored(getDtype())) return emitOpError() << "is stored as " << getDtype() << "; expected f32, f16 or bf16";
  const int64_t columns = getColumn() ? slab_width(getColumn()) : 16;
  if (shape_of(getX())[getTransposed() ? 0 : 1] == columns) return success();
  return emitOpError() << "stores " << columns << " columns, not " << getX().getType();
}

LogicalResult StoreMatrixOp::verify() {
  if (!is_stored(getDtype())) return emitOpError() << "is stored as " << getDtype() << "; expected f32, f16 or bf16";
  auto shape = shape_of(getX());
  if (shape[0] == shape[1]) return success();
  return emitOpError() << "stores a square matrix, not " << getX().getType();
}

LogicalResult ColumnDotsOp::verify() {
  if (getX().getType() != getY().getType())
    return emitOpError("operands must have one type, got ") << getX().getType() << " and " << getY().getType();
  const bool shared = isa<MemRefType>(getX().getType());
  if (shared != static_cast<bool>(getColumn()) || (!shared && (getXScale() || getYScale())))
    return emitOpError("takes shared operands at a column, or all of what registers hold, without scales");
  if (!shared && !(is_of_columns(getX()) && is_of_columns(getY())))
    return emitOpError("takes of what registers hold columns alone: what warp.load gives of those, transposed");
  if (getRows() && (shared || shape_of(getRows())[1] != shape_of(getX())[0]))
    return emitOpError("adds the rows of a tile beside as many columns that registers hold");
  return expect_shape(*this, getResult(), 1, shared ? slab_width(getColumn()) : shape_of(getX())[0]);
}

//===- Control ---------------------------------------------------------------------------------------------------===//

// Whether a loop stores something to shared memory that the other uses.
static bool writes_for(LoopOp from, LoopOp to) {
  llvm::DenseSet<Value> written;
  from.walk([&](Operation* op) {
    if (Value x = written_by(op)) written.insert(x);
  });
  return to
      .walk([&](Operation* op) {
        const bool uses = llvm::any_of(op->getOperands(), [&](Value x) { return written.contains(x); });
        return uses ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Two states go through a round at once.
static bool is_beside(LoopOp loop) {
  auto other = dyn_cast_or_null<LoopOp>(loop->getPrevNode());
  if (!other || other.getOver() != "round" || loop.getOver() != "round" || other.getBackward() || !loop.getBackward())
    return false;
  auto has_barrier = [](LoopOp x) { return !x.getBody().getOps<BarrierOp>().empty(); };
  return other.getResult().use_empty() && !has_barrier(other) && !has_barrier(loop) && !writes_for(other, loop) &&
         !writes_for(loop, other);
}

LogicalResult LoopOp::verify() {
  llvm::StringRef over = getOver();
  auto outer = getOperation()->getParentOfType<LoopOp>();
  if (!llvm::is_contained({"chunks", "groups", "group", "rounds", "round"}, over))
    return emitOpError() << "is over \"" << over << "\"; expected chunks, groups, group, rounds or round";
  if (getAhead() && over != "groups") return emitOpError("copies ahead from group to group only over groups");
  if (auto kernel = getOperation()->getParentOfType<KernelOp>();
      kernel && over == "rounds" && getBackward() != kernel.getBackward())
    return emitOpError("goes through rounds from the first in a forward kernel, from the last in a backward one");
  if (getBeside() && !is_beside(*this))
    return emitOpError(
        "needs a loop right before it through the same round, forward where it is backward, which neither "
        "gives it anything nor has a barrier");
  llvm::StringRef around = over == "group" ? "groups" : over == "round" ? "rounds" : "";
  if (outer ? outer.getOver() == around : around.empty()) return success();
  return emitOpError("a loop over one group or round belongs inside a loop over those, and nothing else does");
}

LogicalResult EndLastOp::verify() {
  auto loop = dyn_cast<LoopOp>((*this)->getParentOp());
  if (loop && loop.getOver() == "round" && !loop.getBackward() && loop.getResult().use_empty()) return success();
  return emitOpError("belongs in a loop forward over a round, whose result nothing reads");
}

LogicalResult LoopOp::verifyRegions() {
  Block& body = getBody().front();
  Type carried = getInit().getType();
  if (body.getNumArguments() != 1 || body.getArgument(0).getType() != carried)
    return emitOpError() << "carries its state in one argument of its body, of " << carried;
  auto yield = dyn_cast<YieldOp>(body.back());
  if (yield && yield.getNext().getType() == carried) return success();
  return emitOpError() << "ends with a warp.yield of " << carried;
}

LogicalResult AgainOp::verifyRegions() {
  Block& body = getBody().front();
  if (body.getNumArguments()) return emitOpError("takes no arguments");
  if (auto yield = dyn_cast<YieldOp>(body.back()); !yield || yield.getNext().getType() != getResult().getType())
    return emitOpError() << "ends with a warp.yield of " << getResult().getType();
  if (!getSaved().getDefiningOp<LoadSavedOp>()) return emitOpError("begins with what a warp.load_saved gives");
  auto loops = body.getOps<LoopOp>();
  if (llvm::hasSingleElement(loops) && !(*loops.begin()).getBackward() && !body.getOps<TeamOp>().empty())
    return success();
  return emitOpError("needs a warp.team and one loop over the round, forward");
}

LogicalResult SlabsOp::verify() {
  if (getStrips() && !llvm::is_contained({32, 64, 128}, slab_width(*this)))
    return emitOpError() << "has strips of " << slab_width(*this) << " columns; expected 32, 64 or 128";
  if (rec::is_extent(signed_value(getColumns()))) return success();
  return emitOpError() << "has " << signed_value(getColumns()) << " columns; expected " << rec::extents_text;
}

LogicalResult ShareOp::verify() {
  if (rec::is_extent(signed_value(getWidth()))) return success();
  return emitOpError() << "has " << signed_value(getWidth()) << " columns; expected " << rec::extents_text;
}

LogicalResult SlabsOp::verifyRegions() {
  Block& body = getBody().front();
  if (body.getNumArguments() == 1 && body.getArgument(0).getType().isIndex()) return success();
  return emitOpError("has one argument, the index of the first column");
}

template <class Op>
static LogicalResult verify_no_arguments(Op op) {
  if (op.getBody().front().getNumArguments() == 0) return success();
  return op.emitOpError("takes no arguments");
}
LogicalResult OnWarpOp::verifyRegions() { return verify_no_arguments(*this); }
LogicalResult TeamOp::verifyRegions() { return verify_no_arguments(*this); }
LogicalResult PrepareOp::verifyRegions() { return verify_no_arguments(*this); }

}  // namespace wkvc::warp
