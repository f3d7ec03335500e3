// What every role of a nest is built by: tiles that it gets, rows of numbers, and where it releases them.
#pragma once

#include "codegen/passes/chunk_to_nest/NestContext.h"

namespace wkvc {

class RoleBuilder {
 public:
  // Begins a role of so many copies, with a sweep over all chunks to come.
  RoleBuilder(NestContext& context, llvm::StringRef name, int64_t copies, int64_t registers);

  NestContext& context() { return context_; }
  mlir::OpBuilder& b() { return context_.b; }

  // Opens the sweep, which carries such tiles. Returns the carried tiles of a chunk.
  mlir::ValueRange begin_sweep(mlir::ValueRange initial = {});
  // Ends the sweep, with what the next chunk has. Returns what is left behind the last chunk.
  mlir::ValueRange end_sweep(mlir::ValueRange next = {});

  // Returns a channel's tile of the chunk, for which the role waits once.
  mlir::Value get(mlir::Value channel);
  // Returns the row of a number of tokens.
  mlir::Value row(mlir::Value number);
  mlir::Value transposed(mlir::Value tile);

  mlir::Value elementwise(nest::Function function, mlir::ValueRange operands, nest::TileType result);
  // Returns x times y, both in shared memory, by wgmma.
  mlir::Value product(mlir::Value x, mlir::Value y);
  mlir::Value number(double value);
  mlir::Value converted(mlir::Value tile, mlir::Type element, Layout layout);

 private:
  void release_all();

  NestContext& context_;
  nest::RoleOp role_;
  nest::SweepOp sweep_;
  llvm::MapVector<mlir::Value, mlir::Value> got_;
};

}  // namespace wkvc
