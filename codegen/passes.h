// The passes from a recurrence to a kernel's text, in order, by name.
#pragma once

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <span>
#include <string>
#include <variant>

#include "codegen/compiler.h"

namespace wkvc {

// What passes hand on: a module, until the last one leaves text. From rec-to-chunk to plain, where scales are guarded
// and programs without scales take decays otherwise, also these programs.
struct Work {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OwningOpRef<mlir::ModuleOp> of_plain = {};
  std::string cuda = {};

  llvm::SmallVector<mlir::ModuleOp, 2> modules();
};

// The first passes read options. All others read programs alone, so that a text needs no options to be taken back. A
// pass runs on texts of its input stage and of earlier ones.
struct Pass {
  const char* name;
  const char* summary;
  Stage input, output;
  std::variant<void (*)(Work& work), void (*)(Work& work, const Config& config)> function;

  void run(Work& work, const Config& config) const;
};

std::span<const Pass> all_passes();

// Throws UserError where the programs of a text of the stage placed have places that no kernel can have.
void check_placed(mlir::ModuleOp module);

}  // namespace wkvc
