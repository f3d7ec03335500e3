// The names of values of chunk programs.
#pragma once

#include <string>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Returns the value's name, or one derived from its operation and operands; empty if none of them has a name.
std::string derived_name_of(mlir::Value x);

// Returns the value that x is a copy of in another dtype: %k of chunk.round(%k).
mlir::Value original_of(mlir::Value x);
std::string exact_name_of(mlir::Value x);

// Names an operand that has no name after the value that it is rounded from: "k_f16".
void name_operand(chunk::RoundOp operand);
void name_operands(chunk::ProgramOp program);  // all of them

}  // namespace wkvc
