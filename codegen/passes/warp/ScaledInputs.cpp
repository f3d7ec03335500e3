#include "codegen/passes/warp/ScaledInputs.h"

#include <mlir/IR/Builders.h>

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

// The operands of one slab.
class Scaling {
 public:
  explicit Scaling(warp::SlabsOp slabs) : b_(slabs) {}

  void scale(warp::RoundOp round) {
    if (!round.getScale()) return;
    b_.setInsertionPoint(round);
    Value over = over_scale(round.getX(), round.getScale());
    if (!over) return;
    round.getXMutable().assign(over);
    round.getScaleMutable().clear();
  }

 private:
  // x over the scale; null if x is no input and no product with one.
  Value over_scale(Value x, Value scale) {
    auto call = x.getDefiningOp<warp::CallOp>();
    if (!call) return {};
    if (call.getFunction() == "widen") return input_over(call, scale);
    if (call.getFunction() == "mul_constant") {
      Value over = over_scale(call.getX()[0], scale);
      return over ? again(call, over) : Value();
    }
    if (call.getFunction() != "mul") return {};
    for (int i : {0, 1}) {
      Value factor = call.getX()[i], other = call.getX()[1 - i];
      if (Value over = factor.getType() == x.getType() ? over_scale(factor, scale) : Value())
        return again(call, {over, other});
    }
    return {};
  }

  Value input_over(warp::CallOp widen, Value scale) {
    auto load = widen.getX()[0].getDefiningOp<warp::LoadOp>();
    auto current = load ? load.getTile().getDefiningOp<warp::CurrentOp>() : warp::CurrentOp();
    if (!current) return {};
    Value& over = over_[{load.getResult(), scale}];
    if (over) return over;
    over = warp::WidenOverOp::create(b_, widen.getLoc(), widen.getType(), load, scale);
    set_name(over, (current.getRing().getDefiningOp<warp::RingOp>().getTensor() + "_over").str());
    return over;
  }

  // The call with other tiles.
  Value again(warp::CallOp call, ValueRange x) {
    Value result =
        warp::CallOp::create(b_, call.getLoc(), call.getType(), call.getFunction(), x, call.getConstantAttr());
    set_name(result, name_of(call.getResult()));
    return result;
  }

  llvm::DenseMap<std::pair<Value, Value>, Value> over_;  // inputs over their scales
  OpBuilder b_;
};

}  // namespace

void scale_inputs(warp::KernelOp kernel) {
  kernel.walk([&](warp::SlabsOp slabs) {
    if (!slabs.getStrips()) return;
    Scaling scaling(slabs);
    for (auto round : llvm::to_vector(slabs.getBody().getOps<warp::RoundOp>())) scaling.scale(round);
  });
}

}  // namespace wkvc
