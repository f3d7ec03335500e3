#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

warp::CallOp call_of(Value x, llvm::StringRef function) {
  auto call = x.getDefiningOp<warp::CallOp>();
  return call && call.getFunction() == function ? call : warp::CallOp();
}

bool is_row(Value x) { return cast<warp::TileType>(x.getType()).getDimSize(0) == 1; }

bool Difference::operator==(const Difference& other) const {
  const bool same = m.has_value() == other.m.has_value() && (!m || m->bitwiseIsEqual(*other.m));
  return x == other.x && y == other.y && same;
}

std::optional<Difference> difference_in(Value x) {
  if (auto call = call_of(x, "sub")) return Difference{call.getX()[0], call.getX()[1], {}};
  auto call = call_of(x, "add_constant");
  if (!call) return {};
  if (auto negated = call_of(call.getX()[0], "neg")) return Difference{{}, negated.getX()[0], *call.getConstant()};
  return Difference{call.getX()[0], {}, llvm::neg(*call.getConstant())};
}

}  // namespace wkvc
