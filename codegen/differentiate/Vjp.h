// The vector-Jacobian product of every chunk operation.
#pragma once

#include <llvm/ADT/DenseSet.h>

#include "codegen/differentiate/Adjoints.h"
#include "codegen/differentiate/Overflow.h"

namespace wkvc {

class Vjp {
 public:
  // `active`: the values whose gradients are wanted or lead to some that are. `spaces`: of the primals.
  Vjp(ChunkBuilder& builder, Adjoints& adjoints, const llvm::DenseSet<mlir::Value>& active, const Spaces& spaces)
      : b_(builder), adjoints_(adjoints), active_(active), spaces_(spaces), overflow_(spaces) {}

  // Adds what the gradient g of the operation's result says of its operands' gradients.
  void operator()(mlir::Operation* op, Term g);

 private:
  void add(mlir::Value primal, mlir::Value value, double factor);
  void add_reduced(mlir::Value primal, mlir::Value value, double factor);
  void multiply(chunk::MulOp op, Term g);
  void factor_of_product(chunk::MulOp op, mlir::Value x, mlir::Value y, Term g);
  mlir::Value finite(mlir::Value x);
  mlir::Value factor(chunk::MulOp product, mlir::Value x);
  mlir::Value sigmoid_slope(mlir::Value x, mlir::Value y);
  mlir::Value tanh_slope(mlir::Value x);
  void activation(mlir::Operation* op, Term g);
  void row(chunk::RowOp op, Term g);
  void contraction(chunk::DotOp op, Term g);
  mlir::Value strictly_lower(mlir::Value x);
  void add_below_diagonal(mlir::Value x, mlir::Value value, double factor);
  bool solve(chunk::DotOp op, Term g);
  void inverse(chunk::UnitLowerInverseOp op, Term g);
  void diagonal_dot(chunk::DiagonalDotOp op, Term g);
  void select_halves(chunk::SelectHalvesOp op, Term g);
  mlir::Value exponent_of_product(chunk::MulOp op, mlir::Value exponential, mlir::Value y, mlir::Value g);
  mlir::Value as_contracted(mlir::Value x);
  mlir::Value sum_of_products(mlir::Value gradient, mlir::Value x);
  bool finite_past_end(mlir::Value x);
  bool is_active(mlir::Value x) const { return active_.contains(x); }

  ChunkBuilder& b_;
  Adjoints& adjoints_;
  const llvm::DenseSet<mlir::Value>& active_;
  const Spaces& spaces_;
  Overflow overflow_;
  llvm::DenseMap<mlir::Value, bool> finite_;
};

}  // namespace wkvc
