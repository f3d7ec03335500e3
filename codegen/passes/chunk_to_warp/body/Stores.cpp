#include "codegen/passes/chunk_to_warp/body/Stores.h"

#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/chunk_to_warp/body/Calls.h"
#include "codegen/passes/chunk_to_warp/body/RoundedOperands.h"

using namespace mlir;

namespace wkvc {

void publish_value(const Environment& env, Value value, Value x) {
  const BuildContext& c = env.context;
  x = without_scale(env, x);
  Value shared = c.buffers.find(value), column = env.site.slab_column();
  if (cast<warp::TileType>(shared.getType()).getRank() == 1) {
    c.create<warp::StoreVectorOp>(x, shared, column, env.site.is_partial(value));
    return;
  }
  const bool rows = env.site.owner == Owner::rows;
  const Space& space = env.site.placement.space(value);
  c.create<warp::StoreOp>(x, shared, column, rows && space.rows == Axis::value, rows && space.columns == Axis::value);
}

void store_output(const Environment& env, chunk::OutputOp op, Value x) {
  const BuildContext& c = env.context;
  Type element = element_type(op->getContext(), op.isSummed() ? "f32" : op.getDtype());
  x = without_scale(env, x);
  if (op.getKept())
    c.create<warp::StoreMatrixOp>(op.getSym(), is_folded(element) ? rounded(c, x, element) : x, element);
  else if (env.site.is_column_vector(op.getX()))
    c.create<warp::StoreTokensOp>(stored_name(op), x, element);
  else
    c.create<warp::StoreOutputOp>(stored_name(op), x, element, env.site.slab_column(),
                                  env.site.lies_transposed(op.getX()));
}

}  // namespace wkvc
