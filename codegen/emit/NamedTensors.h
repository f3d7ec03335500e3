// The tensors of a kernel and their variables.
#pragma once

#include <map>
#include <string>

#include "codegen/emit/Identifiers.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

struct NamedTensor {
  TensorSpec spec;
  std::string variable;
  std::string rows;  // the variable of an output's rows; empty for others
};

class NamedTensors {
 public:
  void add(const TensorSpec& spec, const std::string& variable) { by_name_[spec.name] = {spec, variable, ""}; }
  NamedTensor& of(llvm::StringRef name);  // throws UserError for a name that no tensor has

 private:
  std::map<std::string, NamedTensor> by_name_;
};

}  // namespace wkvc
