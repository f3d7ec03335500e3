// Stages as text: printing and parsing of a module, value names included.
#pragma once

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>

#include <string>
#include <string_view>

namespace wkvc {

// Names the value for the printed text and the emitted kernel. MLIR keeps no names itself, so they live in locations.
void set_name(mlir::Value value, llvm::StringRef name);
llvm::StringRef name_of(mlir::Value value);  // empty if it has none

// Numbers the names that several values of a region of `op`, or one around it, have, so that the text has each value's
// name as it is.
void make_names_unique(mlir::Operation* op);

std::string print(mlir::Operation* op);
std::string dtype_text(mlir::Type element);  // "bf16"

// Parses and verifies. Names of values are restored. Throws UserError with the parser's message and line.
mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text, mlir::MLIRContext& context);

}  // namespace wkvc
