#include "codegen/emit/KernelText.h"

using namespace mlir;

namespace wkvc {

std::string KernelText::declare(Value value) { return names.declare(value, wished_name(value)); }

void KernelText::define(Value value, const std::string& expression) {
  line("const auto {} = {};", declare(value), expression);
}

std::string wished_name(Value value) {
  std::string suffix;
  for (int hops = 0; hops < 8; ++hops) {
    if (auto name = name_of(value); !name.empty()) return name.str() + suffix;
    if (!value.hasOneUse() || !isa_and_nonnull<warp::ZerosOp, warp::MmaOp>(value.getDefiningOp())) break;
    Operation* user = *value.user_begin();
    if (user->getNumResults() != 1) break;
    if (!isa<warp::MmaOp>(user)) suffix = "_sum";
    value = user->getResult(0);
  }
  return "t";
}

}  // namespace wkvc
