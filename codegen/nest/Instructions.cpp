#include "codegen/nest/Instructions.h"

#include "codegen/instructions/Families.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

std::string names() {
  std::string text;
  for (const InstructionFamily* family : instruction_families)
    text += (text.empty() ? "" : ", ") + std::string(family->name);
  return text;
}

LogicalResult expect_layout(Operation* op, const InstructionFamily& family, StringRef what, TileType tile,
                            Layout layout) {
  if (tile.getLayout() == layout) return success();
  return op->emitOpError() << "'" << StringRef(family.name) << "' takes " << what << " as "
                           << StringRef(word_of(layout)) << ", not " << StringRef(word_of(tile.getLayout()));
}

LogicalResult verify_extents(Operation* op, const InstructionFamily& family, TileType x, TileType y, TileType result) {
  if (x.getColumns() != y.getRows() || result.getRows() != x.getRows() || result.getColumns() != y.getColumns())
    return op->emitOpError() << "multiplies " << x << " and " << y << " to " << result << ": the extents do not fit";
  if (x.getRows() % family.rows != 0 || x.getColumns() % (family.depth_bytes / x.elementBytes()) != 0 ||
      y.getColumns() % family.columns != 0 || (family.is_async && y.getColumns() > family.most_columns))
    return op->emitOpError() << "'" << StringRef(family.name) << "' takes " << family.rows << " rows at once, "
                             << family.depth_bytes / x.elementBytes() << " elements of the sum and a multiple of "
                             << family.columns << " columns up to " << family.most_columns << ", not " << x << " and "
                             << y;
  return success();
}

}  // namespace

LogicalResult verify_product(Operation* op, StringRef name, bool is_async, TileType x, TileType y,
                             std::optional<TileType> sum, TileType result) {
  const InstructionFamily* const family = find_family({name.data(), name.size()});
  if (family == nullptr) return op->emitOpError() << "'" << name << "' is no family of instructions: " << names();
  if (family->is_async != is_async)
    return op->emitOpError() << "'" << name << "' is " << (family->is_async ? "" : "not ") << "asynchronous: use "
                             << (family->is_async ? "nest.issue and nest.await" : "nest.multiply");
  if (failed(expect_layout(op, *family, "x", x, family->x)) || failed(expect_layout(op, *family, "y", y, family->y)) ||
      failed(expect_layout(op, *family, "its result", result, family->sums)) ||
      failed(verify_extents(op, *family, x, y, result)))
    return failure();
  if (x.getElement() != y.getElement() || x.getElement().isF32() || !result.getElement().isF32())
    return op->emitOpError() << "takes f16, bf16 or tf32, the same of both, and makes f32, not "
                             << dtype_text(x.getElement()) << ", " << dtype_text(y.getElement()) << " and "
                             << dtype_text(result.getElement());
  if (sum && *sum != result) return op->emitOpError() << "adds to " << *sum << ", but makes " << result;
  if (role_of(op).getWarps() % static_cast<uint64_t>(family->warps) != 0)
    return op->emitOpError() << "'" << name << "' is of " << family->warps << " warps together, but the role has "
                             << role_of(op).getWarps();
  return success();
}

}  // namespace wkvc::nest
