#include "codegen/passes/warp/FoldedUnits.h"

#include <mlir/IR/Builders.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

namespace {

// Whether it is a gradient, as it goes out.
bool goes_out(warp::TimesUnitOp times) {
  return !times.getOver() && !times.getOfState() && !times.getFactor() && !times->use_empty() &&
         llvm::all_of(times->getUsers(), llvm::IsaPred<warp::StoreOutputOp, warp::StoreTokensOp, warp::StoreMatrixOp>);
}

// The gradient that the product is, as it goes out; null if it is none.
warp::TimesUnitOp gradient_of(Operation* product) {
  auto times = product->hasOneUse() ? dyn_cast<warp::TimesUnitOp>(*product->user_begin()) : warp::TimesUnitOp();
  return times && times->getBlock() == product->getBlock() && goes_out(times) ? times : warp::TimesUnitOp();
}

bool is_product_going_out(Operation* op) {
  auto call = dyn_cast<warp::CallOp>(op);
  return call && call.getFunction() == "mul" && gradient_of(call);
}

// The exponent of a power of two, if it is a difference from a row or a number, or of one.
std::optional<Difference> difference_from_row(Value power) {
  auto call = call_of(power, "exp2");
  auto difference = call ? difference_in(call.getX()[0]) : std::nullopt;
  return difference && difference->is_below() != difference->is_above() ? difference : std::nullopt;
}

// The gradients of one kernel.
class Folding {
 public:
  explicit Folding(warp::KernelOp kernel) : b_(kernel), at_(kernel.getLoc()) {}

  void fold(warp::CallOp product) {
    auto times = gradient_of(product);
    if (product.getFunction() == "mul_constant") return fold_number(times, product);
    if (product.getFunction() != "mul") return;
    if (Value factor = factor_for_unit(product)) fold_factor(times, product, factor);
  }

 private:
  // The factor of a product that takes the unit; null if there is none.
  Value factor_for_unit(warp::CallOp product) const {
    if (!isa<warp::SlabsOp, warp::TeamOp>(product->getParentOp())) return {};
    for (Value x : product.getX()) {
      if (with_unit_.contains(x)) return x;
      if (!x.getDefiningOp<warp::CallOp>() || !llvm::all_of(x.getUsers(), is_product_going_out)) continue;
      if (difference_from_row(x) || (!x.hasOneUse() && x.getType() == product.getType())) return x;
    }
    return {};
  }

  static void fold_number(warp::TimesUnitOp times, warp::CallOp product) {
    times.getXMutable().assign(product.getX()[0]);
    times.setFactorAttr(product.getConstantAttr());
    set_name(times.getResult(), name_of(product.getResult()));
    product.erase();
  }

  void fold_factor(warp::TimesUnitOp times, warp::CallOp product, Value factor) {
    Value other = product.getX()[product.getX()[0] == factor ? 1 : 0];
    b_.setInsertionPoint(product);
    Value& with_unit = with_unit_[factor];
    if (!with_unit) with_unit = times_unit(factor, times.getUnit());
    product.getXMutable().assign(ValueRange{other, with_unit});
    times.replaceAllUsesWith(product.getResult());
    times.erase();
  }

  Value times_unit(Value factor, Value unit) {
    auto difference = difference_from_row(factor);
    if (!difference)
      return warp::TimesUnitOp::create(b_, at_, factor, unit, /*over=*/false, /*of_state=*/false, FloatAttr());
    return call("exp2", plus_exponent(*difference, unit, factor.getType()), factor.getType());
  }

  // The difference plus the exponent of the unit.
  Value plus_exponent(Difference difference, Value unit, Type type) {
    if (difference.m) {
      Value x = difference.x ? difference.x : call("neg", difference.y, type);
      return plus_exponent(x, unit, /*less=*/false, difference.x ? llvm::neg(*difference.m) : *difference.m);
    }
    const bool below = difference.is_below();
    Value& row = below ? difference.x : difference.y;
    row = plus_exponent(row, unit, /*less=*/!below, {});
    return call("sub", {difference.x, difference.y}, type);
  }

  Value plus_exponent(Value x, Value unit, bool less, std::optional<llvm::APFloat> number) {
    auto attribute = number ? b_.getFloatAttr(b_.getF32Type(), *number) : FloatAttr();
    return warp::PlusExponentOp::create(b_, at_, x, unit, less, attribute);
  }

  Value call(llvm::StringRef function, ValueRange x, Type type) {
    return warp::CallOp::create(b_, at_, type, function, x, FloatAttr());
  }

  OpBuilder b_;
  Location at_;
  llvm::DenseMap<Value, Value> with_unit_;  // factors of several gradients
};

}  // namespace

void fold_units(warp::KernelOp kernel) {
  llvm::SmallVector<warp::CallOp> products;  // in order: what several of them read is made before the first
  kernel.walk([&](warp::CallOp call) {
    if (gradient_of(call)) products.push_back(call);
  });
  Folding folding(kernel);
  for (auto product : products) folding.fold(product);
}

}  // namespace wkvc
