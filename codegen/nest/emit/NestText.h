// A nest, what its text has declared so far, and the lines that are written.
#pragma once

#include <vector>

#include "codegen/emit/Identifiers.h"
#include "codegen/emit/NamedTensors.h"
#include "codegen/emit/TextLines.h"
#include "codegen/nest/Nest.h"

namespace wkvc::nest {

struct NestText {
  NestText(KernelOp op, Manifest of_kernel) : kernel(op), manifest(std::move(of_kernel)) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    lines.line(format, std::forward<Args>(args)...);
  }
  std::string name(mlir::Value value) const { return names.of(value); }
  // Declares a variable of the value's own name.
  std::string declare(mlir::Value value);

  KernelOp kernel;
  const Manifest manifest;
  Identifiers names;
  NamedTensors tensors;
  std::vector<std::string> under_way;  // the variables of products that have been issued and not awaited
  TextLines lines;
};

// Returns the variable of a tensor's tiles: "q_tiles".
std::string tiles_of(llvm::StringRef tensor);

// Returns the chunk of an operation: "c", "c + 1", or, outside sweeps, "0" and then "chunks".
std::string chunk_text(mlir::Operation* op, uint64_t ahead = 0);

}  // namespace wkvc::nest
