// C++ names for the values of a kernel: the recurrence's own where they are free.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringSet.h>
#include <mlir/IR/Value.h>

#include <string>
#include <vector>

namespace wkvc {

class Identifiers {
 public:
  // Declares a name for the value, made unique among those that are seen here.
  const std::string& declare(mlir::Value value, llvm::StringRef wish);
  // The same, and nothing else has the name anywhere behind.
  const std::string& declare_everywhere(mlir::Value value, llvm::StringRef wish);
  // The value lives on in another value's variable.
  void alias(mlir::Value value, mlir::Value of) { names_[value] = names_.lookup(of); }
  std::string of(mlir::Value value) const { return names_.lookup(value); }
  std::string unique(llvm::StringRef wish);

 private:
  friend class NamesOfBlock;

  llvm::DenseMap<mlir::Value, std::string> names_;
  llvm::StringSet<> taken_;
  std::vector<std::vector<std::string>> blocks_;  // names of each block that is open
};

// A block in braces: names declared while the object lives are free again afterwards.
class NamesOfBlock {
 public:
  explicit NamesOfBlock(Identifiers& names) : names_(names) { names_.blocks_.emplace_back(); }
  NamesOfBlock(const NamesOfBlock&) = delete;
  NamesOfBlock& operator=(const NamesOfBlock&) = delete;
  ~NamesOfBlock();

 private:
  Identifiers& names_;
};

}  // namespace wkvc
