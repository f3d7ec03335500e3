#include "codegen/passes/chunk_to_warp/body/ChunkRegisters.h"

using namespace mlir;

namespace wkvc {

Value ChunkRegisters::find(Value value, Owner owner) const {
  if (owner == Owner::rows) return rows_.lookup(value);
  if (Value tile = local_.lookup(value)) return tile;
  if (owner == Owner::matrix) return tokens_.lookup(value);
  return owner == Owner::slab && is_source(value) ? held_.lookup(value) : Value();
}

void ChunkRegisters::keep(Value value, Owner owner, Value tile) {
  (owner == Owner::rows ? rows_ : local_)[value] = tile;
}

void ChunkRegisters::drop_tokens() {
  for (auto& [input, x] : std::exchange(tokens_, {}))
    if (x.use_empty()) x.getDefiningOp()->erase();
}

}  // namespace wkvc
