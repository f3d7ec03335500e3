#include "codegen/passes/chunk_to_nest/TokenRows.h"

#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

// Returns whether a number is zero behind the last token by itself.
static bool vanishes(Value number) {
  Operation* const op = number.getDefiningOp();
  if (isa<chunk::InputOp>(op)) return !cast<chunk::InputOp>(op).getOfHead();
  if (auto product = dyn_cast<chunk::MulOp>(op)) return vanishes(product.getX()) || vanishes(product.getY());
  return isa<chunk::KeepValidOp>(op);
}

Value without_ends(Value number) {
  if (auto valid = number.getDefiningOp<chunk::KeepValidOp>(); valid && vanishes(valid.getX()))
    return without_ends(valid.getX());
  return number;
}

bool is_of_tokens(Value value) { return chunk::rows(value) > 1 && chunk::columns(value) == 1; }

std::optional<double> constant_of(Value value) {
  auto constant = value.getDefiningOp<chunk::ConstantOp>();
  if (!constant || chunk::rows(value) != 1 || chunk::columns(value) != 1) return {};
  return constant.getValue().convertToDouble();
}

int64_t TokenRows::row_of(Value number) const {
  const auto* const found = llvm::find(rows_, without_ends(number));
  if (found == rows_.end()) internal_error("a number of tokens has no row");
  return found - rows_.begin();
}

}  // namespace wkvc
