#include "codegen/passes/warp/EarlyContractions.h"

#include <mlir/IR/Builders.h>

#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

// Kernels with more keys lose 2 to 4 % by the pass.
static constexpr int64_t most_keys = 128;

static bool is_by_warps(warp::MmaOp mma) { return mma && !mma.isByGroups(); }

// Returns whether the contraction adds one block of registers to a product that nothing else reads, of another
// contraction by warps and a row.
static bool waits_for_product(warp::MmaOp mma) {
  auto product = call_of(mma.getAcc(), "mul");
  return product && product->hasOneUse() && is_by_warps(product.getX()[0].getDefiningOp<warp::MmaOp>()) &&
         is_row(product.getX()[1]) && mma.getAcc().getType().getShape() == ArrayRef<int64_t>{16, 16};
}

// The sum takes the contraction's name.
static void add_product_behind(warp::MmaOp mma) {
  OpBuilder b(mma);
  const Location named = mma.getLoc(), unnamed = mma->getParentOp()->getLoc();
  Value product = mma.getAcc(), contraction = mma.getResult();
  mma.getAccMutable().assign(warp::ZerosOp::create(b, unnamed, product.getType()));
  mma->setLoc(unnamed);
  b.setInsertionPointAfter(mma);
  auto sum = warp::CallOp::create(b, named, product.getType(), "add", ValueRange{product, contraction}, FloatAttr());
  contraction.replaceAllUsesExcept(sum, sum);
}

void begin_contractions_early(warp::KernelOp kernel) {
  if (static_cast<int64_t>(kernel.getKeyDim()) > most_keys) return;
  kernel.walk([](warp::SweepOp loop) {
    auto contractions = llvm::to_vector(loop.getBody().getOps<warp::MmaOp>());
    while (!contractions.empty() && is_by_warps(contractions.back())) contractions.pop_back();
    for (auto mma : contractions)
      if (is_by_warps(mma) && waits_for_product(mma)) add_product_behind(mma);
  });
}

}  // namespace wkvc
