#include "codegen/nest/emit/Types.h"

#include <fmt/format.h>

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

constexpr int64_t kRows = 16;  // of a tile of 64, of each warp

const char* view_name(Layout layout) {
  switch (layout) {
    case Layout::swizzled:
      return "Swizzled";
    case Layout::padded:
      return "Shared";
    case Layout::plain:
      return "Plain";
    default:
      internal_error("no view of a tile in registers");
  }
}

}  // namespace

std::string view_type(TileType tile) {
  return fmt::format("{}<{}, {}, {}>", view_name(tile.getLayout()), dtype_text(tile.getElement()), tile.getRows(),
                     tile.getColumns());
}

std::string register_type(TileType tile) {
  return fmt::format("Tile<{}, {}, {}>", dtype_text(tile.getElement()), kRows, tile.getColumns());
}

}  // namespace wkvc::nest
