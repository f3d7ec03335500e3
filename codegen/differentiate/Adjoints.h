// Gradients of the values of a chunk program while it is differentiated: sums of terms, constants kept outside.
#pragma once

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/ChunkBuilder.h"

namespace wkvc {

// factor·value. Every vjp is linear in the incoming gradient, so constants travel beside it and are applied once.
struct Term {
  mlir::Value value;
  double factor = 1;
};

// What the gradient of a value or tensor is called.
std::string gradient_name(llvm::StringRef name);

class Adjoints {
 public:
  // `spaces`: of the primals.
  Adjoints(ChunkBuilder& builder, const Spaces& spaces) : b_(builder), spaces_(spaces) {}

  // Adds to the gradient of `primal`. A term of one row or column counts for every row or column.
  void add(mlir::Value primal, Term term);
  // The gradient so far, in the primal's shape; a null value if nothing was added.
  Term of(mlir::Value primal);
  mlir::Value apply_factor(Term term) { return term.factor == 1 ? term.value : b_.scale(term.value, term.factor); }

 private:
  ChunkBuilder& b_;
  const Spaces& spaces_;
  llvm::DenseMap<mlir::Value, Term> terms_;
};

}  // namespace wkvc
