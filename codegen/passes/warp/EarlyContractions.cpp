#include "codegen/passes/warp/EarlyContractions.h"

#include <mlir/IR/Builders.h>

#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

// Kernels with more keys lose 2 to 4 % by the pass.
static constexpr int64_t most_keys = 128;

// Whether the contraction's sum is one block of registers, and begins with a product of another contraction and a row
// that nothing else reads.
static bool waits_for_product(warp::MmaOp mma) {
  auto product = call_of(mma.getAcc(), "mul");
  return product && product->hasOneUse() && product.getX()[0].getDefiningOp<warp::MmaOp>() &&
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
  if (kernel.getRounds() == 1 || static_cast<int64_t>(kernel.getKeyDim()) > most_keys) return;
  kernel.walk([](warp::LoopOp loop) {
    auto contractions = llvm::to_vector(loop.getBody().getOps<warp::MmaOp>());
    while (!contractions.empty() && !contractions.back().getByGroups()) contractions.pop_back();
    for (auto mma : contractions)
      if (!mma.getByGroups() && waits_for_product(mma)) add_product_behind(mma);
  });
}

}  // namespace wkvc
