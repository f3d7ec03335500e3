// The passes from a recurrence to a kernel's text, in order, by name.
#pragma once

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <span>
#include <string>

#include "codegen/compiler.h"

namespace wkvc {

// What passes hand on: a module, until the last one leaves text.
struct Work {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string cuda;
};

struct Pass {
  const char* name;
  const char* summary;
  Stage input, output;
  void (*run)(Work& work, const Config& config);
};

std::span<const Pass> all_passes();

}  // namespace wkvc
