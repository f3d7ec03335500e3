#include "codegen/chunk/Names.h"

#include <vector>

#include "codegen/chunk/Chunk.h"
#include "codegen/ir/DerivedNames.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

// As the warp dialect calls it.
llvm::StringRef function_of(Operation* op) {
  auto sum = dyn_cast<chunk::CumsumOp>(op);
  return sum && sum.getReverse() ? "reverse_cumsum" : op->getName().stripDialect();
}

// `depth`: operations between the value and the names, of which few make a name that helps.
std::string derived_name_of(Value x, int depth) {
  if (auto name = name_of(x); !name.empty()) return name.str();
  Operation* op = x.getDefiningOp();
  if (!op || depth == 0) return "";
  std::vector<std::string> operands;
  for (Value operand : op->getOperands()) operands.push_back(derived_name_of(operand, depth - 1));
  auto half = op->getAttrOfType<IntegerAttr>("half");
  return derived_name(function_of(op), operands, half ? half.getInt() : 0);
}

}  // namespace

std::string derived_name_of(Value x) { return derived_name_of(x, /*depth=*/4); }

Value original_of(Value x) {
  auto is_copy = [](Value copy) {
    Operation* op = copy.getDefiningOp();
    return isa_and_nonnull<chunk::RoundOp>(op) || (isa_and_nonnull<chunk::WidenOp>(op) && name_of(copy).empty());
  };
  while (is_copy(x)) x = x.getDefiningOp()->getOperand(0);
  return x;
}

std::string exact_name_of(Value x) { return without_storage(derived_name_of(original_of(x))).str(); }

void name_operand(chunk::RoundOp operand) {
  if (!name_of(operand.getResult()).empty()) return;
  if (const std::string name = exact_name_of(operand.getX()); !name.empty())
    set_name(operand, name + "_" + dtype_text(chunk::element(operand.getResult())));
}

void name_operands(chunk::ProgramOp program) {
  for (auto round : program.getBody().getOps<chunk::RoundOp>()) name_operand(round);
}

}  // namespace wkvc
