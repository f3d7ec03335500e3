#include "codegen/passes/warp/ReusedExponentials.h"

#include <mlir/IR/Builders.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

namespace {

// The exponentials of one slab.
class Exponentials {
 public:
  explicit Exponentials(Block& slab) : slab_(slab) {}

  void reuse(warp::CallOp power) {
    auto exponent = difference_in(power.getX()[0]);
    if (!exponent) return;
    b_.setInsertionPoint(power);
    if (Value before = shifted(power, *exponent)) return replace(power, before);
    if (Value negated = of_negated(power, *exponent)) replace(power, negated);
  }

 private:
  // The value before `op` that is this difference; null if there is none.
  Value find(const Difference& difference, Operation* op) {
    for (auto call : slab_.getOps<warp::CallOp>()) {
      if (!call->isBeforeInBlock(op)) break;
      if (auto other = difference_in(call.getResult()); other && *other == difference) return call.getResult();
    }
    return {};
  }

  Value of_negated(warp::CallOp power, const Difference& exponent) {
    if (!exponent.is_below()) return {};
    Value other = find(exponent.negated(), power);
    return other ? call("exp2", call("neg", other, power.getType()), power.getType()) : Value();
  }

  Value shifted(warp::CallOp power, const Difference& exponent) {
    if (!exponent.is_above()) return {};
    auto before = exponent.x ? call_of(exponent.x, "sub") : warp::CallOp();
    auto sum = before ? call_of(before.getX()[0], "cumsum") : warp::CallOp();
    if (!sum || sum.getX()[0] != before.getX()[1]) return {};
    Value other = find({sum.getResult(), exponent.y, exponent.m}, power);
    if (!other) return {};
    for (Operation* user : other.getUsers())
      if (auto found = dyn_cast<warp::CallOp>(user); found && found.getFunction() == "exp2")
        return call("shift_rows", {found.getResult(), first_of(power, exponent)}, power.getType());
    return {};
  }

  // 2^(L − w − m) of the first token, of which L is w: the first row of as much, where m is a number.
  Value first_of(warp::CallOp power, const Difference& exponent) {
    if (exponent.y) return call("exp2", call("neg", exponent.y, exponent.y.getType()), exponent.y.getType());
    const warp::TileType type = power.getType();
    auto row = warp::TileType::get({1, type.getDimSize(1)}, b_.getF32Type(), type.getLayout());
    return call("exp2", call("row", power.getX()[0], row, b_.getF32FloatAttr(0)), row);
  }

  Value call(llvm::StringRef function, ValueRange x, Type type, FloatAttr constant = {}) {
    return warp::CallOp::create(b_, slab_.getParentOp()->getLoc(), type, function, x, constant);
  }

  void replace(warp::CallOp power, Value by) {
    set_name(by, name_of(power.getResult()));
    power.replaceAllUsesWith(by);
    power.erase();
  }

  Block& slab_;
  OpBuilder b_{slab_.getParentOp()};
};

}  // namespace

void reuse_exponentials(warp::KernelOp kernel) {
  kernel.walk([](warp::SlabsOp slabs) {
    if (!slabs.getStrips()) return;
    Block& slab = slabs.getBody().front();
    Exponentials exponentials(slab);
    for (auto call : llvm::to_vector(slab.getOps<warp::CallOp>()))
      if (call.getFunction() == "exp2") exponentials.reuse(call);
  });
}

}  // namespace wkvc
