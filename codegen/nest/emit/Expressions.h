// The text of a value: the name of the variable, or the expression that the value is inlined as.
#pragma once

#include <string>

#include "codegen/nest/emit/NestText.h"

namespace wkvc::nest {

// How much of a tile an expression is of: a warp's rows, or 16 columns of them, which the variable `at` takes.
enum class Extent { rows, block };

// Returns a tile in shared memory, or a row of one.
std::string shared_text(const NestText& text, mlir::Value tile);

// Returns the columns of a shared tile that a copy of the role has, so many each.
std::string columns_of_copy(const std::string& tile, int64_t columns);

// Returns a tile in registers, with the elements of its type.
std::string tile_text(const NestText& text, mlir::Value tile, Extent extent = Extent::rows);

// Returns the expression of what an operation makes, inlined or not.
std::string made_text(const NestText& text, mlir::Operation* op, Extent extent = Extent::rows);

}  // namespace wkvc::nest
