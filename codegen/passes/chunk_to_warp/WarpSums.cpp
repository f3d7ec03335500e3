// Sums over all chunks.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

using namespace mlir;

namespace wkvc {

// Those over values first: each warp has its own rows of them. Those over keys are dealt in slabs.
template <class F>
void WarpBuilder::for_each_sum(F f) {
  auto each = [&](Owner owner, Value column) {
    for (auto& [op, buffer] : of_.shared.sums())
      if (placement_.of(op).owner == owner) f(cast<chunk::AccumulateOp>(op), buffers_.value(buffer), column);
  };
  each(Owner::rows, {});
  bool any = llvm::any_of(of_.shared.sums(), [&](auto& sum) { return placement_.of(sum.first).owner == Owner::slab; });
  if (!any) return;
  OpBuilder::InsertionGuard guard(b_);
  each(Owner::slab, begin_slab(create<warp::SlabsOp>(b_.getI64IntegerAttr(program_.getKeyDim()), IntegerAttr())));
}

void WarpBuilder::start_sums() {
  for_each_sum([&](chunk::AccumulateOp, Value sum, Value column) {
    Value zero = create<warp::ZerosOp>(VectorType::get({column ? 1 : 16, column ? 16 : 1}, b_.getF32Type()));
    set_name(zero, "zero");
    create<warp::StoreVectorOp>(zero, sum, column, /*part=*/!column);
  });
}

void WarpBuilder::end_sums() {
  for_each_sum(
      [&](chunk::AccumulateOp op, Value sum, Value column) { create<warp::StoreSumOp>(parts_name(op), sum, column); });
}

}  // namespace wkvc
