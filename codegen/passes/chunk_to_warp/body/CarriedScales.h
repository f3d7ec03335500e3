// Which sums carry a scale, and which of these were rounded in theirs.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Value.h>

namespace wkvc {

class CarriedScales {
 public:
  bool has(mlir::Value sum) const { return carry_.contains(sum); }
  void add(mlir::Value sum) { carry_.insert(sum); }
  bool is_rounded(mlir::Value sum) const { return rounded_.contains(sum); }
  void add_rounded(mlir::Value sum) { rounded_.insert(sum); }

 private:
  llvm::DenseSet<mlir::Value> carry_, rounded_;
};

}  // namespace wkvc
