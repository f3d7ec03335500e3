#include "codegen/emit/NamedTensors.h"

#include "runtime/error.h"

namespace wkvc {

void NamedTensors::declare(const std::vector<TensorSpec>& specs, Identifiers& names, TextLines& lines) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const std::string variable = names.unique(specs[i].name + "_global");
    by_name_[specs[i].name] = {specs[i], variable, ""};
    lines.line("const TensorArg& {} = args.tensor[{}];", variable, i);
  }
}

NamedTensor& NamedTensors::of(llvm::StringRef name) {
  auto it = by_name_.find(name.str());
  if (it == by_name_.end()) user_error("kernel: '{}' is not among its tensors", name.str());
  return it->second;
}

}  // namespace wkvc
