// Values of a recurrence as functions of the state.
#pragma once

#include "codegen/rec/Rec.h"
#include "llvm/ADT/DenseMap.h"

namespace wkvc::rec {

enum class Dependence { none, affine, nonlinear };

class Dependences {
 public:
  explicit Dependences(RecurrenceOp recurrence);
  Dependence operator[](mlir::Value value) const { return known_.lookup(value); }

 private:
  Dependence result_of(mlir::Operation& op) const;

  llvm::DenseMap<mlir::Value, Dependence> known_;
};

}  // namespace wkvc::rec
