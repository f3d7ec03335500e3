#include "codegen/passes/chunk_to_warp/body/Calls.h"

using namespace mlir;

namespace wkvc {

Value without_scale(const Environment& env, Value x) {
  return env.carried.has(x) ? env.context.create<warp::WithoutScaleOp>(x) : x;
}

// What there is of sums that carry a scale; of C×C matrices all terms have the same one.
static bool keeps_scale(const Environment& env, llvm::StringRef function, ValueRange x) {
  if (function == "mul") return env.carried.has(x[0]) && cast<warp::TileType>(x[1].getType()).getDimSize(0) == 1;
  return env.site.owner == Owner::matrix &&
         llvm::is_contained({"tril", "tril_strict", "level_pairs", "add"}, function) &&
         llvm::all_of(x, [&](Value operand) { return env.carried.has(operand); });
}

Value call(Environment& env, llvm::StringRef function, ValueRange x, Type type, std::optional<float> constant) {
  const BuildContext& c = env.context;
  llvm::SmallVector<Value> operands(x);
  const bool keeps =
      llvm::any_of(x, [&](Value operand) { return env.carried.has(operand); }) && keeps_scale(env, function, x);
  if (!keeps)
    for (Value& operand : operands) operand = without_scale(env, operand);
  Value result =
      c.create<warp::CallOp>(type, function, operands, constant ? c.b.getF32FloatAttr(*constant) : FloatAttr());
  if (keeps) env.carried.add(result);
  return result;
}

}  // namespace wkvc
