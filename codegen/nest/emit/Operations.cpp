#include "codegen/nest/emit/Operations.h"

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc::nest {

std::string NestText::declare(Value value) {
  const llvm::StringRef wish = name_of(value);
  return names.declare(value, wish.empty() ? "t" : wish);
}

std::string tiles_of(llvm::StringRef tensor) { return tensor.str() + "_tiles"; }

std::string chunk_text(Operation* op, uint64_t ahead) {
  if (op->getParentOfType<SweepOp>()) return ahead == 0 ? "c" : fmt::format("c + {}", ahead);
  const bool is_behind =
      llvm::any_of(op->getBlock()->getOps<SweepOp>(), [&](SweepOp sweep) { return sweep->isBeforeInBlock(op); });
  return is_behind ? "chunks" : "0";
}

static const OperationWriters& all_writers() {
  static const OperationWriters writers = [] {
    OperationWriters all;
    for (auto add_group : {add_channels, add_guards, add_products, add_tensors, add_values}) add_group(all);
    return all;
  }();
  return writers;
}

void write_body(NestText& text, Region& region) {
  for (Operation& op : region.front())
    if (!is_inlined(&op)) all_writers().write(text, op);
}

}  // namespace wkvc::nest
