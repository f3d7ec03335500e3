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

// Returns whether what a token does to the state reads the state by a contraction, as S·a bᵀ does. Then a matrix over
// keys takes a state through a token; without, a factor for each key does.
bool contracts_state(RecurrenceOp recurrence);

}  // namespace wkvc::rec
