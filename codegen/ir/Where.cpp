#include "codegen/ir/Where.h"

namespace wkvc {

std::string where(mlir::Location location) {
  auto at = location->findInstanceOf<mlir::FileLineColLoc>();
  if (!at) return "";
  const std::string file = at.getFilename().str();
  return file.empty() || file == "-" ? fmt::format("line {}: ", at.getLine())
                                     : fmt::format("{}:{}: ", file, at.getLine());
}

std::string where(mlir::Operation* op) {
  std::string line;
  for (; op && line.empty(); op = op->getParentOp()) line = where(op->getLoc());
  return line;
}

}  // namespace wkvc
