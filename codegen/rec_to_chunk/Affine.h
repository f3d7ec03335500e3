// A recurrence as an affine map of the state S before the token, read off the rec text:
//   matrix forms   ±S·diag(d) + Σ S·a bᵀ + Σ v kᵀ      vector forms   Σ S·q + Σ S'·q' + Σ v·(x·y) + plain
// where S' is the state after the token. Everything else a token computes (d, a, b, v, k, q, …) is lifted to a chunk
// value on the way: vectors over keys become C×K, over values C×V.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/rec/Dependence.h"
#include "codegen/rec/Ranges.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

struct RankOne {
  mlir::Value left, right;  // a, b over keys; or v over values, k over keys
};

struct MatrixForm {
  bool has_state = false;
  mlir::Operation* negated = nullptr;  // what subtracts the state; null: it is added
  mlir::Operation* scaled = nullptr;   // what last scaled the state; null: nothing did
  mlir::Value decay, log_decay;        // C×K; null: 1 and 0
  rec::Interval log_range{0, 0};
  std::vector<RankOne> rank;   // S·a bᵀ
  std::vector<RankOne> input;  // v kᵀ
};

struct VectorForm {
  struct Product {
    mlir::Value v, x, y;  // v·(x·y), token by token
  };
  std::vector<mlir::Value> before, after;  // the q of S·q and S'·q
  std::vector<Product> products;
  mlir::Value plain;  // C×V, or null
};

class AffineAnalysis {
 public:
  AffineAnalysis(rec::RecurrenceOp recurrence, ChunkBuilder& builder, int64_t chunk);

  // Lifts every operation up to outputs. Throws UserError naming the term that is not affine in the state.
  void run();

  const MatrixForm& next() const { return matrices_.find(next_)->second; }
  // The chunk value of what does not depend on the state.
  mlir::Value lifted(mlir::Value token_value);
  // A row for every token and a column for every element, whatever broadcasts in `x`, which stands for `token_value`.
  mlir::Value full(mlir::Value x, mlir::Value token_value, char dim);
  const VectorForm* vector_form(mlir::Value token_value) const;
  // Elementwise operations on reads of the state, allowed in outputs only, in program order.
  const std::vector<mlir::Operation*>& late() const { return late_; }
  // Lifts one elementwise operation on already lifted operands.
  mlir::Value lift(mlir::Operation* op, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value assumed(mlir::Operation* assume, mlir::Value x);

 private:
  void visit(mlir::Operation* op);
  void check(mlir::Operation* op) const;
  void lift_source(mlir::Operation* op);
  bool visit_matrix(mlir::Operation* op);
  bool visit_vector(mlir::Operation* op);
  MatrixForm sum(mlir::Operation* op, MatrixForm x, MatrixForm y, bool negate);
  MatrixForm scaled(mlir::Operation* op, MatrixForm x, mlir::Value token_factor);
  MatrixForm outer(rec::OuterOp op);
  VectorForm apply(rec::DotOp op);
  void read(const MatrixForm& matrix, mlir::Value q, VectorForm& form);
  VectorForm before_update(VectorForm form);
  bool is_product(mlir::Operation* op) const;
  bool visit_product(mlir::Operation* op);
  VectorForm scaled(VectorForm form, mlir::Value token_scalar);
  VectorForm sum(VectorForm x, VectorForm y, bool negate);
  mlir::Value full(mlir::Value token_value, char dim) { return full(lifted(token_value), token_value, dim); }
  struct Factor {
    mlir::Value value, log;  // its magnitude
    rec::Interval log_range;
    bool negative;
  };
  Factor state_factor(mlir::Operation* op, mlir::Value token_factor);
  void check_compute(mlir::Operation* op) const;
  VectorForm form_of(mlir::Value token_value);
  bool depends_on_state(mlir::Value token_value) const;
  std::string why_not_fed_back(mlir::Value column) const;
  [[noreturn]] void refuse(mlir::Operation* op, const std::string& why) const;

  rec::RecurrenceOp recurrence_;
  ChunkBuilder& b_;
  int64_t chunk_;
  mlir::Value next_;
  rec::Dependences dependences_;
  llvm::DenseMap<mlir::Value, mlir::Value> values_;
  llvm::DenseMap<mlir::Value, MatrixForm> matrices_;
  llvm::DenseMap<mlir::Value, VectorForm> vectors_;
  std::vector<mlir::Operation*> late_;
};

}  // namespace wkvc
