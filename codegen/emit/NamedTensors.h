// The tensors of a kernel and their variables.
#pragma once

#include <map>
#include <string>

#include "codegen/emit/Identifiers.h"
#include "codegen/emit/TextLines.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

struct NamedTensor {
  TensorSpec spec;
  std::string variable;
  std::string rows;  // the variable of an output's rows; empty for others
};

class NamedTensors {
 public:
  // Writes the declarations of the tensors' variables.
  void declare(const std::vector<TensorSpec>& specs, Identifiers& names, TextLines& lines);
  NamedTensor& of(llvm::StringRef name);  // throws UserError for a name that no tensor has

 private:
  std::map<std::string, NamedTensor> by_name_;
};

}  // namespace wkvc
