// What reports call a value of a program.
#pragma once

#include "codegen/ir/Text.h"

namespace wkvc {

// The value's name, or its first named reader's.
inline std::string reported_name(mlir::Value value) {
  for (int hops = 0; hops < 4 && name_of(value).empty() && value.hasOneUse(); ++hops) {
    mlir::Operation* user = *value.user_begin();
    if (user->getNumResults() != 1) break;
    value = user->getResult(0);
  }
  return name_of(value).str();
}

}  // namespace wkvc
