// The place where an operation was written: the line of the C++ recurrence, or of the text that holds the operation.
#pragma once

#include <mlir/IR/Operation.h>

#include <string>
#include <utility>

#include "runtime/error.h"

namespace wkvc {

// "file:line: ", "line 3: " for a text without a file, or nothing where the location says nothing.
std::string where(mlir::Location location);
// The same of an operation, or of the nearest one around it that has a line.
std::string where(mlir::Operation* op);

// A mistake of the user's in what `op` stands for.
template <class... Args>
[[noreturn]] void user_error_at(mlir::Operation* op, fmt::format_string<Args...> text, Args&&... args) {
  throw UserError(fmt::format(text, std::forward<Args>(args)...), where(op));
}

}  // namespace wkvc
