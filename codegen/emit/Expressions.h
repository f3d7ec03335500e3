// Warp operations as C++ expressions.
#pragma once

#include <string>

#include "codegen/emit/Binding.h"
#include "codegen/emit/Identifiers.h"
#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// "16, 64" and a number that reads back as the same float.
std::string shape_text(mlir::Type shaped);
std::string float_text(const llvm::APFloat& number);

// These return whether a vector is one number, whether its numbers lie side by side as a row, and how many it has.
inline bool is_number(mlir::Type vector) { return llvm::cast<warp::TileType>(vector).getNumElements() == 1; }
inline bool is_row(mlir::Type vector) { return llvm::cast<warp::TileType>(vector).getDimSize(0) == 1; }
inline int64_t length(mlir::Type vector) { return llvm::cast<warp::TileType>(vector).getNumElements(); }

class Expressions {
 public:
  // `value_row`: the variable for the first of a warp's own value rows.
  Expressions(const Identifiers& names, std::string value_row) : names_(names), value_row_(std::move(value_row)) {}

  std::string of(mlir::Value value) const { return within(value, Binding::any); }
  std::string of_factor(mlir::Value value) const { return within(value, Binding::operand); }  // in a product
  std::string statement(warp::CallOp op) const {
    return call(op, Binding::any);
  }  // of an operation with a variable of its own
  std::string statement(warp::RoundOp op) const { return round(op); }
  std::string statement(warp::WithScaleOp op) const {
    return (op.getUnit() ? "with_unit_scale(" : "with_scale(") + of(op.getX()) + ")";
  }
  std::string statement(warp::WithoutScaleOp op) const { return "widen(" + of(op.getX()) + ")"; }
  std::string operand(mlir::Value tile, mlir::Value column, mlir::Value scale,
                      bool transposed) const;  // of a contraction
  std::string load(warp::LoadOp op) const;
  // Returns the first of 16 numbers: of the slab at `column`, or, without one, of this warp's value rows.
  std::string first_of(mlir::Value column) const { return column ? names_.of(column) : value_row_; }
  std::string columns(mlir::Value tile, mlir::Value column, bool own) const;  // a shared tile or a slab of it

 private:
  // A variable, or an expression in parentheses if its operator binds less tightly than `around`.
  std::string within(mlir::Value value, Binding around) const;
  std::string call(warp::CallOp op, Binding around) const;
  std::string infix(warp::CallOp op, const char* symbol, Binding own, Binding around) const;
  std::string round(warp::RoundOp op) const;

  const Identifiers& names_;
  std::string value_row_;
};

}  // namespace wkvc
