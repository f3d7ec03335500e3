// Roles of a nest are built of the program, its axes, the kernel, and the channels between roles.
#pragma once

#include <llvm/ADT/MapVector.h>

#include "codegen/chunk/Axes.h"
#include "codegen/nest/Nest.h"
#include "codegen/passes/chunk_to_nest/TokenRows.h"

namespace wkvc {

// Slots of what is copied: a chunk is read, the next one is there, and one is on its way.
inline constexpr int64_t kAhead = 3;

struct NestContext {
  NestContext(chunk::ProgramOp of, nest::KernelOp in)
      : program(of), kernel(in), b(of.getContext()), spaces(infer_spaces(of)) {}

  nest::TileType tile(int64_t rows, int64_t columns, mlir::Type element, Layout layout) const {
    return nest::TileType::get(b.getContext(), rows, columns, element, layout);
  }
  int64_t chunk() const { return static_cast<int64_t>(chunk::ProgramOp(program).getChunk()); }

  // A new operation where the builder stands, at the line of the program.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b, program.getLoc(), std::forward<Args>(args)...);
  }

  // Returns the channel of the tiles of a value or an input, which is made when somebody first asks.
  mlir::Value channel_of(mlir::Value value);

  chunk::ProgramOp program;
  nest::KernelOp kernel;
  mlir::OpBuilder b;
  Spaces spaces;
  TokenRows rows;
  llvm::MapVector<mlir::Value, mlir::Value> channels;  // of inputs and of operands that helpers make
  mlir::Value numbers;                                 // the channel of the rows
};

// Returns the input whose elements an operand has as they are; null for other operands.
chunk::InputOp exact_input(mlir::Value operand);

// A channel carries one of these. A helper puts all but inputs, which are copied.
enum class Carried { input, exact_operand, pairs, inverse };
Carried carried_of(mlir::Value value);

// Returns a new channel of the kernel, before its roles.
mlir::Value add_channel(NestContext& context, llvm::StringRef name, nest::TileType tile, int64_t depth,
                        mlir::Value over = {});

}  // namespace wkvc
