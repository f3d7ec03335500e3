#include "codegen/nest/emit/Expressions.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/emit/Expressions.h"
#include "codegen/ir/Text.h"
#include "codegen/nest/emit/Types.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

std::string f32_text(const NestText& text, Value operand, Extent extent);

bool is_infix(Value operand) {
  auto op = operand.getDefiningOp<ElementwiseOp>();
  return op && is_inlined(op) && op.getFunction() != Function::exp2 && op.getFunction() != Function::maximum;
}

// Returns an operand of an infix expression.
std::string factor_text(const NestText& text, Value operand, Extent extent) {
  const std::string plain = f32_text(text, operand, extent);
  return is_infix(operand) || plain[0] == '-' ? "(" + plain + ")" : plain;
}

std::string elementwise_text(const NestText& text, ElementwiseOp op, Extent extent) {
  const OperandRange x = op.getOperands();
  const auto infix = [&](const char* symbol) {
    return fmt::format("{} {} {}", factor_text(text, x[0], extent), symbol, factor_text(text, x[1], extent));
  };
  switch (op.getFunction()) {
    case Function::add:
      return infix("+");
    case Function::subtract:
      return infix("-");
    case Function::multiply:
      return infix("*");
    case Function::maximum:
      return fmt::format("maximum({}, {})", f32_text(text, x[0], extent), f32_text(text, x[1], extent));
    case Function::exp2:
      return fmt::format("exp2({})", f32_text(text, x[0], extent));
  }
  internal_error("an element-wise function has no text");
}

// A row of shared memory beside columns, or, transposed, beside this warp's rows.
std::string vector_text(const NestText& text, Value row, Extent extent) {
  const int64_t columns = cast<TileType>(row.getType()).getColumns();
  if (auto transpose = row.getDefiningOp<TransposeOp>())
    return fmt::format("load_column<16>({} + role.row0())", shared_text(text, transpose.getTile()));
  if (extent == Extent::block) return fmt::format("load_row<16>({} + at.column0())", shared_text(text, row));
  return fmt::format("load_row<{}>({})", columns, shared_text(text, row));
}

std::string loaded_text(const NestText& text, Value tile, Extent extent) {
  if (cast<TileType>(tile.getType()).getLayout() == Layout::plain) return vector_text(text, tile, extent);
  return fmt::format("{}load(role, {})", extent == Extent::block ? "at." : "", shared_text(text, tile));
}

// Returns whether a tile has more than one column, so that blocks of 16 can be taken of it.
bool has_columns(TileType tile) { return tile.getColumns() > 1 && tile.getLayout() != Layout::tokens; }

std::string variable_text(const NestText& text, Value tile, Extent extent) {
  const std::string name = text.name(tile);
  return extent == Extent::block && has_columns(cast<TileType>(tile.getType())) ? "at(" + name + ")" : name;
}

// An operand of an element-wise function, widened.
std::string f32_text(const NestText& text, Value operand, Extent extent) {
  const auto tile = cast<TileType>(operand.getType());
  const std::string plain = tile_text(text, operand, extent);
  return tile.getElement().isF32() ? plain : "widen(" + plain + ")";
}

std::string convert_text(const NestText& text, ConvertOp op, Extent extent) {
  const Type element = op.getResult().getType().getElement();
  if (op.getTile().getType().getElement() == element) return tile_text(text, op.getTile(), extent);
  const std::string from = f32_text(text, op.getTile(), extent);
  return element.isF32() ? from : fmt::format("round<{}>({})", dtype_text(element), from);
}

std::string constant_text(ConstantOp op) {
  const TileType tile = op.getResult().getType();
  return tile.isNumber() ? float_text(op.getValue()) : register_type(tile) + "{}";
}

std::string element_text(const NestText& text, ElementOp op) {
  if (op.getTile().getType().getLayout() == Layout::tokens)
    return fmt::format("row<{}>({})", op.getIndex(), tile_text(text, op.getTile()));
  return fmt::format("load_number({} + {})", shared_text(text, op.getTile()), op.getIndex());
}

std::string pairs_text(const NestText& text, DecayedPairsOp op, Extent extent) {
  return fmt::format("decayed_pairs<{}>(role, {}, {}{})", !op.getUnmasked(), tile_text(text, op.getProducts(), extent),
                     shared_text(text, op.getSums()), extent == Extent::block ? ", at.column0()" : "");
}

std::string level_text(const NestText& text, LevelOp op, Extent extent) {
  return fmt::format("{}level<{}>(role, {}{})", op.getWithout() ? "without_" : "", op.getRows(),
                     tile_text(text, op.getTile(), extent), extent == Extent::block ? ", at" : "");
}

}  // namespace

std::string shared_text(const NestText& text, Value tile) {
  Operation* const op = tile.getDefiningOp();
  if (auto row = dyn_cast_or_null<RowOp>(op))
    return fmt::format("{}.row({})", shared_text(text, row.getTile()), row.getIndex());
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op))
    return fmt::format("trans({})", shared_text(text, transpose.getTile()));
  if (auto part = dyn_cast_or_null<PartOp>(op))
    return columns_of_copy(shared_text(text, part.getTile()), part.getResult().getType().getColumns());
  return text.name(tile);
}

std::string columns_of_copy(const std::string& tile, int64_t columns) {
  return fmt::format("{0}.cols<{1}>({1} * role.copy)", tile, columns);
}

std::string tile_text(const NestText& text, Value tile, Extent extent) {
  if (cast<TileType>(tile.getType()).isShared()) return loaded_text(text, tile, extent);
  Operation* const op = tile.getDefiningOp();
  return op && is_inlined(op) ? made_text(text, op, extent) : variable_text(text, tile, extent);
}

std::string made_text(const NestText& text, Operation* op, Extent extent) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case([&](ConstantOp constant) { return constant_text(constant); })
      .Case([&](ElementwiseOp elementwise) { return elementwise_text(text, elementwise, extent); })
      .Case([&](ConvertOp convert) { return convert_text(text, convert, extent); })
      .Case([&](ElementOp element) { return element_text(text, element); })
      .Case([&](DecayedPairsOp pairs) { return pairs_text(text, pairs, extent); })
      .Case([&](DiagonalOp diagonal) { return fmt::format("diagonal({})", tile_text(text, diagonal.getNumbers())); })
      .Case([&](LevelOp level) { return level_text(text, level, extent); })
      .Default([](Operation* other) -> std::string {
        internal_error("'{}' is no expression", other->getName().getStringRef().str());
      });
}

}  // namespace wkvc::nest
