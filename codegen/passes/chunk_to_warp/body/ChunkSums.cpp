#include "codegen/passes/chunk_to_warp/body/ChunkSums.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/chunk_to_warp/body/Regions.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

// Those over values first: each warp has its own rows of them. Those over keys are dealt in slabs.
template <class F>
static void for_each_sum(const BuildContext& c, F f) {
  const auto& sums = c.placed.shared.sums();
  const auto is_of = [&](auto& sum, Owner owner) { return c.placement().of(sum.first).owner == owner; };
  auto each = [&](Owner owner, Value column) {
    for (auto& sum : sums)
      if (is_of(sum, owner)) f(cast<chunk::AccumulateOp>(sum.first), c.buffers.value(sum.second), column);
  };
  each(Owner::rows, {});
  if (llvm::none_of(sums, [&](auto& sum) { return is_of(sum, Owner::slab); })) return;
  OpBuilder::InsertionGuard guard(c.b);
  auto keys = c.b.getI64IntegerAttr(extent_of(Axis::key, c.placement()));
  each(Owner::slab, begin_slab(c, c.create<warp::SlabsOp>(keys, IntegerAttr())));
}

void start_sums(const BuildContext& c) {
  for_each_sum(c, [&](chunk::AccumulateOp, Value sum, Value column) {
    Value zero = c.create<warp::ZerosOp>(
        warp::TileType::get({column ? 1 : 16, column ? 16 : 1}, c.b.getF32Type(), Layout::fragments));
    set_name(zero, "zero");
    c.create<warp::StoreVectorOp>(zero, sum, column, /*part=*/!column);
  });
}

void end_sums(const BuildContext& c) {
  for_each_sum(c, [&](chunk::AccumulateOp op, Value sum, Value column) {
    c.create<warp::StoreSumOp>(parts_name(op), sum, column);
  });
}

}  // namespace wkvc
