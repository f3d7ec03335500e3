#include "codegen/nest/Instructions.h"

#include <array>

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

struct Family {
  llvm::StringLiteral name;
  Layout x, y, sums;
  bool is_async;      // issued and waited for apart
  int64_t rows_of_x;  // a multiple of that for each four warps or, of mma.sync, for each warp
  int64_t warps;      // that go together: a role has a multiple of them
};

// wgmma takes its second operand and, but for the rounded sums of a product before, its first one from shared memory.
constexpr std::array<Family, 3> table{{
    {"mma.sync", Layout::fragments, Layout::fragments, Layout::fragments, false, 16, 1},
    {"wgmma.shared", Layout::swizzled, Layout::swizzled, Layout::sums, true, 64, 4},
    {"wgmma.registers", Layout::operand, Layout::swizzled, Layout::sums, true, 64, 4},
}};

constexpr int64_t kDepthBytes = 32;    // of a product
constexpr int64_t kColumnStep = 8;     // of sums
constexpr int64_t kMostColumns = 256;  // of wgmma's sums

std::string names() {
  std::string text;
  for (const Family& family : table) text += (text.empty() ? "" : ", ") + family.name.str();
  return text;
}

LogicalResult expect_layout(Operation* op, const Family& family, StringRef what, TileType tile, Layout layout) {
  if (tile.getLayout() == layout) return success();
  return op->emitOpError() << "'" << family.name << "' takes " << what << " as " << stringifyLayout(layout) << ", not "
                           << stringifyLayout(tile.getLayout());
}

LogicalResult verify_extents(Operation* op, const Family& family, TileType x, TileType y, TileType result) {
  if (x.getColumns() != y.getRows() || result.getRows() != x.getRows() || result.getColumns() != y.getColumns())
    return op->emitOpError() << "multiplies " << x << " and " << y << " to " << result << ": the extents do not fit";
  if (x.getRows() % family.rows_of_x != 0 || x.getColumns() % (kDepthBytes / x.elementBytes()) != 0 ||
      y.getColumns() % kColumnStep != 0 || (family.is_async && y.getColumns() > kMostColumns))
    return op->emitOpError() << "'" << family.name << "' takes " << family.rows_of_x << " rows at once, "
                             << kDepthBytes / x.elementBytes() << " elements of the sum and a multiple of "
                             << kColumnStep << " columns up to " << kMostColumns << ", not " << x << " and " << y;
  return success();
}

// Returns the family of a name; null where there is none.
const Family* family_of(StringRef name) {
  const auto found = llvm::find_if(table, [&](const Family& family) { return family.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

LogicalResult verify_product(Operation* op, StringRef name, bool is_async, TileType x, TileType y,
                             std::optional<TileType> sum, TileType result) {
  const Family* const family = family_of(name);
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
