// The shared tiles of the current chunk: those of inputs in rings, and those of computed values.
#pragma once

#include "codegen/passes/chunk_to_warp/BuildContext.h"

namespace wkvc {

// Returns true: any operation counts as a reader.
inline bool any_reader(mlir::Operation*) { return true; }

class ChunkTiles {
 public:
  explicit ChunkTiles(const BuildContext& context) : c_(context) {}

  // Takes the inputs that some of these operations read.
  void begin(llvm::function_ref<bool(mlir::Operation*)> readers);
  // Publishes the maxima of inputs in these rings, where a scale needs one.
  void publish(llvm::function_ref<bool(const PlannedBuffer&)> rings) const;
  // Returns the tile of a whole value.
  mlir::Value of(mlir::Value value) const;

 private:
  const BuildContext& c_;
  llvm::DenseMap<mlir::Value, mlir::Value> inputs_;
};

}  // namespace wkvc
