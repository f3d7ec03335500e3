// Which register tile holds which value of a chunk.
#pragma once

#include <llvm/ADT/MapVector.h>

#include "codegen/passes/place/Placement.h"

namespace wkvc {

class ChunkRegisters {
 public:
  void begin_chunk() { rows_.clear(), brought_.clear(); }
  void begin_part() { local_.clear(); }  // a slab, a matrix, or the rows of a phase
  void begin_share() { held_.clear(); }

  // Returns the tile that an owner has of a value; null if it has none.
  mlir::Value find(mlir::Value value, Owner owner) const;
  // What value rows compute lasts for the chunk, all else for a slab or a matrix.
  void keep(mlir::Value value, Owner owner, mlir::Value tile);
  bool is_of_part(mlir::Value value) const { return local_.contains(value); }
  bool has(mlir::Value value) const { return local_.contains(value) || rows_.contains(value); }

  // Inputs of one number a token, for matrices, from before anything is waited for.
  void keep_tokens(mlir::Value input, mlir::Value tile) { tokens_[input] = tile; }
  void drop_tokens();  // erases loads that nothing reads

  // Operands of a share, from before its phase. Null until they are there.
  mlir::Value& held(mlir::Value value) { return held_[value]; }
  // Operands of value rows in the state's scale. Null until they are there.
  mlir::Value& brought(mlir::Value operand) { return brought_[operand]; }

 private:
  using Tiles = llvm::DenseMap<mlir::Value, mlir::Value>;

  Tiles local_, rows_, held_, brought_;
  llvm::MapVector<mlir::Value, mlir::Value> tokens_;
};

}  // namespace wkvc
