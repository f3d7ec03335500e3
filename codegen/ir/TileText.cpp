#include "codegen/ir/TileText.h"

#include <llvm/ADT/StringExtras.h>

using namespace mlir;

namespace wkvc {

FailureOr<TileText> parse_tile(AsmParser& parser) {
  TileText tile;
  StringRef word;
  const auto at = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(tile.shape, /*allowDynamic=*/false) ||
      parser.parseType(tile.element) || parser.parseComma() || parser.parseKeyword(&word))
    return failure();
  const auto layout = find_layout({word.data(), word.size()});
  if (tile.shape.empty() || tile.shape.size() > 2 || !layout)
    return parser.emitError(at) << "expected rows, columns, an element and a layout (" << llvm::join(layout_words, ", ")
                                << "), such as <64x128xf16, swizzled>";
  tile.layout = *layout;
  return parser.parseGreater() ? FailureOr<TileText>() : tile;
}

void print_tile(AsmPrinter& printer, ArrayRef<int64_t> shape, Type element, Layout layout) {
  printer << "<";
  for (const int64_t extent : shape) printer << extent << "x";
  printer << element << ", " << StringRef(word_of(layout)) << ">";
}

}  // namespace wkvc
