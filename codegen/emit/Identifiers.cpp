#include "codegen/emit/Identifiers.h"

#include <llvm/ADT/StringExtras.h>

#include "codegen/rec/Names.h"

namespace wkvc {

std::string Identifiers::unique(llvm::StringRef wish) {
  std::string name;
  for (char c : wish) name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || !llvm::isAlpha(name[0])) name = "t" + name;
  // A name that C++, CUDA or templates/ use ("do", "exp") gets an underscore.
  if (rec::name_fault(name)) name += "_";
  std::string candidate = name;
  for (int i = 2; !taken_.insert(candidate).second; ++i) candidate = name + "_" + std::to_string(i);
  return candidate;
}

const std::string& Identifiers::declare(mlir::Value value, llvm::StringRef wish) {
  return names_[value] = unique(wish);
}

}  // namespace wkvc
