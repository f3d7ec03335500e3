// Builds chunk operations: broadcasting, names, and the choice of operand dtypes for contractions.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <optional>
#include <string>
#include <vector>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// |x| ≤ factor · Σ Π max|input|: what the power-of-two scale of an f16 operand is taken from.
struct Bound {
  std::vector<std::vector<std::string>> products;
  double factor = 1;

  bool is_number() const;  // whatever the inputs
};

// As chunk.round has it.
mlir::ArrayAttr products_attr(mlir::Builder& builder, const Bound& bound);

// What is known of an f32 value's magnitude: from inputs, also from states, also through contractions and sums, which
// make bounds looser, or also from operands whose scale is that of their own maximum, by `own_maximum`.
enum class Known { inputs, states, sums, operands };
std::string own_maximum(chunk::RoundOp round);  // empty if it has no name
std::optional<Bound> bound_of(mlir::Value x, Known known = Known::inputs);

class ChunkBuilder {
 public:
  ChunkBuilder(mlir::OpBuilder& builder, mlir::Location loc, std::string compute)
      : builder_(builder), loc_(loc), compute_(std::move(compute)) {}

  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<chunk::AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<chunk::SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<chunk::MulOp>(x, y); }
  mlir::Value neg(mlir::Value x) { return unary<chunk::NegOp>(x); }
  mlir::Value exp(mlir::Value x) { return unary<chunk::ExpOp>(x); }
  mlir::Value exp2(mlir::Value x) { return unary<chunk::Exp2Op>(x); }
  mlir::Value log(mlir::Value x);  // of a positive constant another one
  mlir::Value cumsum(mlir::Value x, bool reverse = false, bool exclusive = false);
  mlir::Value keep_valid(mlir::Value x) { return unary<chunk::KeepValidOp>(x); }
  mlir::Value sigmoid(mlir::Value x) { return unary<chunk::SigmoidOp>(x); }
  mlir::Value reciprocal(mlir::Value x) { return unary<chunk::ReciprocalOp>(x); }
  mlir::Value at_least(mlir::Value x, float bound) {
    return create<chunk::AtLeastOp>(x.getType(), x, llvm::APFloat(bound));
  }
  mlir::Value exceeds(mlir::Value x, float bound) {
    return create<chunk::ExceedsOp>(x.getType(), x, llvm::APFloat(bound));
  }
  mlir::Value not_below(mlir::Value x, float bound) {
    return create<chunk::NotBelowOp>(x.getType(), x, llvm::APFloat(bound));
  }
  mlir::Value sum_rows(mlir::Value x) { return create<chunk::SumRowsOp>(f32_type(1, chunk::columns(x)), x); }
  mlir::Value sum_columns(mlir::Value x) { return create<chunk::SumColumnsOp>(f32_type(chunk::rows(x), 1), x); }
  mlir::Value diagonal(mlir::Value x) { return create<chunk::DiagonalOp>(f32_type(chunk::rows(x), 1), x); }
  mlir::Value row_dot(mlir::Value x, mlir::Value y);  // x·y of every token, a column
  mlir::Value diagonal_dot(mlir::Value x, mlir::Value y);
  mlir::Value last_of_other_half(mlir::Value x, uint64_t half) {
    return create<chunk::LastOfOtherHalfOp>(x.getType(), x, half);
  }
  mlir::Value sum_of_other_half(mlir::Value x, uint64_t half) {
    return create<chunk::SumOfOtherHalfOp>(x.getType(), x, half);
  }
  mlir::Value select_halves(mlir::Value x, mlir::Value y, uint64_t half) {
    return create<chunk::SelectHalvesOp>(x.getType(), x, y, half);
  }
  mlir::Value level_pairs(mlir::Value x, uint64_t half) { return create<chunk::LevelPairsOp>(x.getType(), x, half); }
  mlir::Value upper_rows(mlir::Value x, uint64_t half) { return create<chunk::UpperRowsOp>(x.getType(), x, half); }
  mlir::Value lower_rows(mlir::Value x, uint64_t half) { return create<chunk::LowerRowsOp>(x.getType(), x, half); }
  mlir::Value number(double value);                          // 1x1
  mlir::Value zeros(mlir::Type type, llvm::StringRef dims);  // "TK": tokens × keys
  mlir::Value scale(mlir::Value x, double factor);           // x·factor; meets a constant factor of x
  mlir::Value tril(mlir::Value x, bool strict);
  mlir::Value row(mlir::Value x, int64_t index, bool anchor = false);
  mlir::Value widen(mlir::Value x);
  // x with rows past the sequence's end as zeros, given that those of inputs are.
  mlir::Value zero_past_end(mlir::Value x);
  // An f32 value broadcast to rows × columns, for operations that do not broadcast themselves.
  mlir::Value spread(mlir::Value x, int64_t rows, int64_t columns, llvm::StringRef dims);

  // Σ over dimension i of x and j of y, both rounded to the compute dtype, or to f32 where f16 could overflow.
  mlir::Value dot(mlir::Value x, int64_t i, mlir::Value y, int64_t j);
  // In bf16's place f16, if its scales keep the operands in range.
  mlir::Value precise_dot(mlir::Value x, int64_t i, mlir::Value y, int64_t j);
  // Both rounded to a dtype of f32's range and the compute dtype's digits, as are those of the operands' gradients.
  mlir::Value wide_dot(mlir::Value x, int64_t i, mlir::Value y, int64_t j);
  mlir::Value inverse(mlir::Value x);

  // Declares that |x| ≤ magnitude: the attribute `at_most`. With inputs: times the largest |element| of each.
  void set_at_most(mlir::Value x, double magnitude, const std::vector<std::string>& inputs = {});
  // Declares that the warp that makes (its part of) this value sees the maximum its scale needs.
  void set_measurable(mlir::Value x) { measurable_.insert(x); }
  bool is_measurable(mlir::Value x) const { return measurable_.contains(x); }
  // As an f16 operand the value has two terms.
  void set_two_terms(mlir::Value x) { two_terms_.insert(x); }
  // An operand that is there already serves all contractions of what it was rounded from.
  void adopt(chunk::RoundOp op);

  // Names the value, unless it has a name, and with it the operands that were rounded from it.
  void name(mlir::Value x, const std::string& name);

  mlir::OpBuilder& builder() { return builder_; }
  void set_location(mlir::Location at) { loc_ = at; }  // of operations from here on
  // A new operation of the dialect; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(builder_, loc_, std::forward<Args>(args)...);
  }
  mlir::RankedTensorType f32_type(int64_t rows, int64_t columns) const {
    return mlir::RankedTensorType::get({rows, columns}, builder_.getF32Type());
  }

 private:
  template <class Op>
  mlir::Value unary(mlir::Value x) {
    return create<Op>(x.getType(), x);
  }
  template <class Op>
  mlir::Value binary(mlir::Value x, mlir::Value y) {
    auto type = f32_type(std::max(chunk::rows(x), chunk::rows(y)), std::max(chunk::columns(x), chunk::columns(y)));
    return create<Op>(type, x, y);
  }
  bool fits_f16(mlir::Value x) const;
  std::string operand_dtype(mlir::Value x, mlir::Value y, bool precise) const;
  mlir::Value contraction(mlir::Value x, int64_t i, mlir::Value y, int64_t j, const std::string& dtype);
  mlir::Type element_of_operand(mlir::Value x, const std::string& dtype) const;
  mlir::Value operand(mlir::Value x, const std::string& dtype);

  mlir::OpBuilder& builder_;
  mlir::Location loc_;
  std::string compute_;
  llvm::DenseSet<mlir::Value> measurable_, two_terms_;
  llvm::DenseMap<mlir::Value, mlir::Value> widened_;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> spread_;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> operands_;
};

mlir::Value stored(mlir::Value x);  // what x was widened from, or x: as it lies in shared memory
mlir::Type element_type(mlir::MLIRContext* context, llvm::StringRef dtype);  // "f32", "tf32", "f16", "bf16", "bf16x3"

}  // namespace wkvc
