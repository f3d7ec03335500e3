// The text of a type of tiles, in any dialect: <64x128xf16, swizzled>.
#pragma once

#include <mlir/IR/OpImplementation.h>

#include "codegen/instructions/Layout.h"

namespace wkvc {

struct TileText {
  llvm::SmallVector<int64_t, 2> shape;
  mlir::Type element;
  Layout layout = Layout::fragments;
};

// Returns what the text says; fails, with a message of the parser, where the text is not that of a tile.
mlir::FailureOr<TileText> parse_tile(mlir::AsmParser& parser);

void print_tile(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> shape, mlir::Type element, Layout layout);

}  // namespace wkvc
