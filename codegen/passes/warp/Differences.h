// Differences as exponents have them.
#pragma once

#include <optional>

#include "codegen/warp/Warp.h"

namespace wkvc {

// The call if x is what it gives; else null.
warp::CallOp call_of(mlir::Value x, llvm::StringRef function);

bool is_row(mlir::Value x);

// The difference x − y of tiles, or of a tile and a row or a number.
struct Difference {
  mlir::Value x, y;                // null where the number is
  std::optional<llvm::APFloat> m;  // the number

  bool operator==(const Difference& other) const;
  Difference negated() const { return {y, x, m}; }
  bool is_below() const { return !x || is_row(x); }  // a row or a number
  bool is_above() const { return !y || is_row(y); }
};

// Nothing if x is no difference.
std::optional<Difference> difference_in(mlir::Value x);

}  // namespace wkvc
