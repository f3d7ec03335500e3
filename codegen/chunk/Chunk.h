// The chunk dialect: C tokens of one head as matrices. ChunkOps.td says what each operation means.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "codegen/ir/TermTypes.h"
#include "codegen/schedule/ScheduleAttr.h"

#include "codegen/chunk/ChunkDialect.h.inc"
#define GET_OP_CLASSES
#include "codegen/chunk/ChunkOps.h.inc"

namespace wkvc::chunk {

inline constexpr size_t kMaxOperations = 10000;    // of a program
inline constexpr llvm::StringLiteral kPlus = "+";  // between the products of a bound

inline int64_t rows(mlir::Value x) { return llvm::cast<mlir::RankedTensorType>(x.getType()).getDimSize(0); }
inline int64_t columns(mlir::Value x) { return llvm::cast<mlir::RankedTensorType>(x.getType()).getDimSize(1); }
// Of an input, a state or an output.
inline llvm::StringRef symbol(mlir::Operation* op) { return op->getAttrOfType<mlir::StringAttr>("sym").getValue(); }
// Of a state: times 2^exponent it is its value in the program.
inline int64_t exponent_of(mlir::Operation* state) {
  auto exponent = state->getAttrOfType<mlir::IntegerAttr>("exponent");
  return exponent ? exponent.getInt() : 0;
}
inline mlir::Type element(mlir::Value x) { return llvm::cast<mlir::RankedTensorType>(x.getType()).getElementType(); }

// The products of maxima whose sum bounds an operand, each of names; none where there is no bound.
llvm::SmallVector<llvm::SmallVector<llvm::StringRef>> products(RoundOp round);

}  // namespace wkvc::chunk
