#include "codegen/emit/NamedTensors.h"

#include "runtime/error.h"

namespace wkvc {

NamedTensor& NamedTensors::of(llvm::StringRef name) {
  auto it = by_name_.find(name.str());
  if (it == by_name_.end()) user_error("kernel: '{}' is not among its tensors", name.str());
  return it->second;
}

}  // namespace wkvc
