#include "codegen/passes/place/memory/PlannedBuffer.h"

#include <mlir/IR/Builders.h>

#include "codegen/warp/Warp.h"

using namespace mlir;

namespace wkvc {

static Attribute space_of(MLIRContext* context) { return Builder(context).getI64IntegerAttr(warp::kSharedSpace); }

MemRefType shared_type(int64_t rows, int64_t columns, Type element) {
  return MemRefType::get({rows, columns}, element, MemRefLayoutAttrInterface(), space_of(element.getContext()));
}

MemRefType floats_type(MLIRContext* context, int64_t count) {
  return MemRefType::get({count}, Float32Type::get(context), MemRefLayoutAttrInterface(), space_of(context));
}

}  // namespace wkvc
