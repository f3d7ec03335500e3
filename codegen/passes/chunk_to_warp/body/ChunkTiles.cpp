#include "codegen/passes/chunk_to_warp/body/ChunkTiles.h"

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

void ChunkTiles::begin(llvm::function_ref<bool(Operation*)> readers) {
  for (auto& [value, ring] : c_.placed.shared.rings()) {
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    bool for_scale = value.use_empty() && c_.buffers.maximum(input.getSym());
    if (!for_scale && !llvm::any_of(value.getUsers(), readers)) continue;
    inputs_[value] = c_.create<warp::CurrentOp>(ring.type, c_.buffers.value(ring));
    set_name(inputs_[value], (input.getSym() + "_raw").str());
  }
}

void ChunkTiles::publish(llvm::function_ref<bool(const PlannedBuffer&)> rings) const {
  for (auto& [value, ring] : c_.placed.shared.rings()) {
    if (!rings(ring)) continue;
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    if (Value slots = c_.buffers.maximum(input.getSym())) c_.create<warp::PublishMaxOp>(inputs_.lookup(value), slots);
  }
}

Value ChunkTiles::of(Value value) const {
  if (Value input = inputs_.lookup(value)) return input;
  if (Value shared = c_.buffers.find(value)) return shared;
  internal_error("'{}' is not in shared memory", name_of(value).str());
}

}  // namespace wkvc
