#include "codegen/rec/Rec.h"

#include <algorithm>
#include <cmath>

#include "codegen/rec/Drawn.h"
#include "codegen/rec/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/DialectImplementation.h"
#include "runtime/error.h"

namespace wkvc::rec {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;

bool is_tensor(mlir::Type type, llvm::ArrayRef<std::int64_t> ranks, bool f32_only) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !llvm::is_contained(ranks, tensor.getRank())) return false;
  const mlir::Type element = tensor.getElementType();
  return element.isF32() || (!f32_only && (element.isF16() || element.isBF16()));
}

bool is_scalar(mlir::Type type) { return type == scalar_type(type.getContext()); }

mlir::RankedTensorType scalar_type(mlir::MLIRContext* context) {
  return mlir::RankedTensorType::get({1}, mlir::Float32Type::get(context));
}

mlir::Type mlir_type(DType dtype, mlir::MLIRContext* context) {
  switch (dtype) {
    case DType::f32:
      return mlir::Float32Type::get(context);
    case DType::f16:
      return mlir::Float16Type::get(context);
    case DType::bf16:
      return mlir::BFloat16Type::get(context);
  }
  internal_error("no MLIR type for dtype {}", static_cast<int>(dtype));
}

DType dtype_of(mlir::Type element) {
  if (element.isF32()) return DType::f32;
  if (element.isF16()) return DType::f16;
  if (element.isBF16()) return DType::bf16;
  internal_error("a value of the rec dialect is neither f32, f16 nor bf16");
}

// ---- Pieces of the assembly format ----------------------------------------------------------------------------------

namespace {

mlir::ParseResult parseDim(mlir::OpAsmParser& parser, DimAttr& dim) {
  const auto at = parser.getCurrentLocation();
  std::int64_t one = 0;
  StringRef word;
  const auto number = parser.parseOptionalInteger(one);
  if (number.has_value() && mlir::failed(*number)) return failure();
  if (!number.has_value() && parser.parseOptionalKeyword(&word)) return parser.emitError(at, "expected dim K, V or 1");
  const auto parsed = number.has_value() ? symbolizeDim(StringRef(one == 1 ? "1" : "")) : symbolizeDim(word);
  if (!parsed) return parser.emitError(at, "expected dim K, V or 1");
  dim = DimAttr::get(parser.getContext(), *parsed);
  return success();
}

void printDim(mlir::OpAsmPrinter& printer, mlir::Operation*, DimAttr dim) { printer << stringifyDim(dim.getValue()); }

// A result's name is its text: `%log_w = ...` names it "log_w", `%3 = ...` leaves it without.
mlir::ParseResult parseResultName(mlir::OpAsmParser& parser, mlir::StringAttr& name) {
  const StringRef text = parser.getResultName(0).first;
  if (!text.empty() && !llvm::isDigit(text.front())) name = parser.getBuilder().getStringAttr(text);
  return success();
}

// [lo, hi], keeping every bit: MLIR's own form prints six digits.
mlir::ParseResult parseRange(mlir::OpAsmParser& parser, mlir::DenseF64ArrayAttr& range) {
  llvm::SmallVector<double> bounds;
  const auto bound = [&] {
    const auto at = parser.getCurrentLocation();
    mlir::ParseResult parsed = failure();
    {
      mlir::ScopedDiagnosticHandler quiet(parser.getContext(), [](mlir::Diagnostic&) { return success(); });
      parsed = parser.parseFloat(bounds.emplace_back());
    }
    return parsed ? parser.emitError(at, "expected a number with a point, as in [-5.0, 0.0] or [-1.0e38, 0.0]")
                  : parsed;
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, bound)) return failure();
  range = parser.getBuilder().getDenseF64ArrayAttr(bounds);
  return success();
}

// The shortest text that reads back as the same number, with the point that MLIR's numbers have.
std::string number_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find('.') == text.npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

void printRange(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::DenseF64ArrayAttr range) {
  printer << '[' << llvm::join(llvm::map_range(range.asArrayRef(), number_text), ", ") << ']';
}

void printResultName(mlir::OpAsmPrinter&, mlir::Operation*, mlir::StringAttr) {}

mlir::RankedTensorType tensor_of(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }

// ---- Pieces of the verifiers ----------------------------------------------------------------------------------------

LogicalResult verify_range(mlir::Operation* op, llvm::ArrayRef<double> range) {
  if (range.size() != 2) return op->emitOpError("needs a range of two numbers, [lo, hi]");
  if (!std::isfinite(range[0]) || !std::isfinite(range[1])) return op->emitOpError("needs a range of finite numbers");
  if (range[0] > range[1])
    return op->emitOpError() << "has the empty range [" << number_text(range[0]) << ", " << number_text(range[1])
                             << "]: lo must not exceed hi";
  return success();
}

LogicalResult verify_declared(mlir::Operation* op, std::optional<llvm::ArrayRef<double>> range) {
  if (const mlir::Attribute drawn = op->getAttr(drawn_name)) {
    const auto word = llvm::dyn_cast<mlir::StringAttr>(drawn);
    if (!word || !is_distribution(word.getValue()))
      return op->emitOpError() << "has drawn = " << drawn << "; expected " << distributions_text << ", in quotes";
  }
  return range ? verify_range(op, *range) : success();
}

LogicalResult verify_compute(mlir::Operation* op, std::optional<StringRef> compute) {
  if (!compute || is_compute(*compute)) return success();
  return op->emitOpError() << "has compute '" << *compute << "'; expected " << computes_text;
}

LogicalResult verify_head(RecurrenceOp op) {
  const auto keys = signed_value(op.getKeyDim()), values = signed_value(op.getValueDim());
  if (!is_extent(keys)) return op->emitOpError() << "key_dim is " << keys << "; expected " << extents_text;
  if (is_value_extent(values)) return success();
  return op->emitOpError() << "value_dim is " << values << "; expected " << value_extents_text;
}

}  // namespace

// ---- Verifiers of single operations ---------------------------------------------------------------------------------

LogicalResult InputOp::verify() { return verify_declared(*this, getRange()); }
LogicalResult ParameterOp::verify() { return verify_declared(*this, getRange()); }
LogicalResult AssumeOp::verify() { return verify_range(*this, getRange()); }

LogicalResult ConstantOp::verify() {
  if (!getValue().isFinite()) return emitOpError("needs a finite number");
  return success();
}

LogicalResult CastOp::verify() {
  const auto from = tensor_of(getOperand()), to = tensor_of(getResult());
  if (from.getShape() != to.getShape()) return emitOpError("changes the dtype, not the shape");
  if (from == to) return emitOpError() << "from " << from.getElementType() << " to itself: drop it";
  return success();
}

LogicalResult DotOp::verify() {
  const auto lhs = tensor_of(getLhs()), rhs = tensor_of(getRhs());
  if (lhs.getShape().back() != rhs.getDimSize(0))
    return emitOpError() << "contracts over different extents, " << lhs.getShape().back() << " and "
                         << rhs.getDimSize(0);
  const std::int64_t extent = lhs.getRank() == 2 ? lhs.getDimSize(0) : 1;
  if (tensor_of(getResult()).getDimSize(0) != extent)
    return emitOpError() << "gives " << extent << " numbers, not " << tensor_of(getResult()).getDimSize(0);
  return verify_compute(*this, getCompute());
}

LogicalResult OuterOp::verify() {
  const std::int64_t rows = tensor_of(getColumn()).getDimSize(0), columns = tensor_of(getRow()).getDimSize(0);
  if (tensor_of(getResult()).getShape() != llvm::ArrayRef<std::int64_t>{rows, columns})
    return emitOpError() << "gives " << rows << "x" << columns << " numbers, not " << getResult().getType();
  return verify_compute(*this, getCompute());
}

LogicalResult UpdateOp::verify() {
  if (!getState().getDefiningOp<StateOp>()) return emitOpError("needs a rec.state as its first operand");
  return success();
}

LogicalResult OutputOp::verify() {
  const mlir::Type value = tensor_of(getValue()).getElementType();
  if (!getDtype().isF32() && !getDtype().isF16() && !getDtype().isBF16())
    return emitOpError() << "'" << getName() << "' is stored as " << getDtype() << "; expected f32, f16 or bf16";
  if (!value.isF32() && value != getDtype())
    return emitOpError() << "'" << getName() << "' is " << value << " but stored as " << getDtype()
                         << "; dtypes are never promoted: write rec.cast";
  return success();
}

// ---- The recurrence as a whole --------------------------------------------------------------------------------------

LogicalResult RecurrenceOp::verify() {
  if (const auto fault = name_fault(getSymName())) return emitOpError() << *fault;
  if (failed(verify_head(*this))) return failure();
  if (failed(verify_compute(*this, getCompute()))) return failure();
  if (is_sram_budget(getSramBudget())) return success();
  return emitOpError() << "sram_budget is " << static_cast<std::int64_t>(getSramBudget()) << " bytes; expected "
                       << sram_budgets_text;
}

StateOp RecurrenceOp::state() { return *getBody().getOps<StateOp>().begin(); }
UpdateOp RecurrenceOp::update() { return *getBody().getOps<UpdateOp>().begin(); }

void RecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/rec/RecOps.cpp.inc"
      >();
}

}  // namespace wkvc::rec

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "codegen/rec/RecDialect.cpp.inc"
#include "codegen/rec/RecEnums.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/rec/RecOps.cpp.inc"
#pragma GCC diagnostic pop
