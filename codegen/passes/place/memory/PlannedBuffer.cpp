#include "codegen/passes/place/memory/PlannedBuffer.h"

#include <mlir/IR/Builders.h>

#include "codegen/warp/Warp.h"

using namespace mlir;

namespace wkvc {

warp::TileType shared_type(int64_t rows, int64_t columns, Type element) {
  return warp::TileType::get({rows, columns}, element, Layout::shared);
}

warp::TileType floats_type(MLIRContext* context, int64_t count) {
  return warp::TileType::get({count}, Float32Type::get(context), Layout::plain);
}

}  // namespace wkvc
