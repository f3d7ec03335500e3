#include "codegen/passes/warp/EarlyContractions.h"

#include <mlir/IR/Builders.h>

#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

// Whether the contraction's sum is one block of registers, and waits for a product that nothing else reads.
static bool waits_for_product(warp::MmaOp mma) {
  auto product = call_of(mma.getAcc(), "mul");
  return product && product->hasOneUse() && product.getX()[0].getDefiningOp<warp::MmaOp>() &&
         mma.getAcc().getType().getShape() == ArrayRef<int64_t>{16, 16};
}

static void add_product_behind(warp::MmaOp mma) {
  OpBuilder b(mma);
  const Location unnamed = mma->getParentOp()->getLoc();
  Value product = mma.getAcc(), contraction = mma.getResult();
  mma.getAccMutable().assign(warp::ZerosOp::create(b, unnamed, product.getType()));
  b.setInsertionPointAfter(mma);
  const Location named = mma.getLoc();
  auto sum = warp::CallOp::create(b, named, product.getType(), "add", ValueRange{product, contraction}, FloatAttr());
  contraction.replaceAllUsesExcept(sum, sum);
  mma->setLoc(unnamed);
}

void begin_contractions_early(warp::KernelOp kernel) {
  if (kernel.getRounds() == 1 || kernel.getKeyDim() > 128) return;
  kernel.walk([](warp::LoopOp loop) {
    const auto contractions = llvm::to_vector(loop.getBody().getOps<warp::MmaOp>());
    if (llvm::none_of(contractions, [](auto mma) { return mma.getByGroups(); })) return;
    for (auto mma : contractions)
      if (!mma.getByGroups() && waits_for_product(mma)) add_product_behind(mma);
  });
}

}  // namespace wkvc
