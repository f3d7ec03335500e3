// The scales of a chunk's rounded operands.
#pragma once

#include "codegen/passes/chunk_to_warp/body/ChunkTiles.h"

namespace wkvc {

class OperandScales {
 public:
  OperandScales(const BuildContext& context, const ChunkTiles& tiles) : c_(context), tiles_(tiles) {}

  // Creates those of this chunk's inputs, or `of_states`, which these operations read. Equal bounds share a scale.
  void create(bool of_states, llvm::function_ref<bool(mlir::Operation*)> readers);
  void set(chunk::RoundOp round, mlir::Value scale) { scales_[round.getResult()] = scale; }
  void clear() { scales_.clear(); }

  // Returns the scale of a value that was rounded with a bound; null if there is none.
  mlir::Value of(mlir::Value value) const { return scales_.lookup(value); }
  // Returns the scale of a rounding of a team's: the team's, or what the team left.
  mlir::Value known(mlir::Operation* round);

 private:
  mlir::Value from_maxima(chunk::RoundOp round);

  const BuildContext& c_;
  const ChunkTiles& tiles_;
  llvm::DenseMap<mlir::Value, mlir::Value> scales_;
};

}  // namespace wkvc
