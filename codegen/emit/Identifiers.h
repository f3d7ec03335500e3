// C++ names for the values of a kernel: the recurrence's own where they are free.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringSet.h>
#include <mlir/IR/Value.h>

#include <string>

namespace wkvc {

class Identifiers {
 public:
  // Declares a name for the value, made unique.
  const std::string& declare(mlir::Value value, llvm::StringRef wish);
  // The value lives on in another value's variable.
  void alias(mlir::Value value, mlir::Value of) { names_[value] = names_.lookup(of); }
  std::string of(mlir::Value value) const { return names_.lookup(value); }
  std::string unique(llvm::StringRef wish);

 private:
  llvm::DenseMap<mlir::Value, std::string> names_;
  llvm::StringSet<> taken_;
};

}  // namespace wkvc
