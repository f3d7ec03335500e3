// Operations of a recurrence as C++ expressions over one token.
#pragma once

#include <string>

#include "codegen/emit/Binding.h"
#include "codegen/emit/Identifiers.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// Returns whether the text has a variable for the operation's value.
bool has_variable(mlir::Operation* op);

class TokenExpressions {
 public:
  TokenExpressions(const Identifiers& names, int keys) : names_(names), keys_(keys) {}

  std::string of(mlir::Value x) const { return within(x, Binding::any); }
  std::string statement(mlir::Operation* op) const {
    return expression(op, Binding::any);
  }  // of a variable's own operation
  // "KeyVec<64>" over keys, "ValueVec" over the warp's values, or "float".
  std::string type_over(rec::Dim dim) const;

 private:
  // A variable, or an expression in parentheses if its operator binds less tightly than `around`.
  std::string within(mlir::Value x, Binding around) const;
  std::string expression(mlir::Operation* op, Binding around) const;
  std::string infix(mlir::Operation* op, const char* symbol, Binding own, Binding around) const;
  std::string unary(mlir::Operation* op) const;
  std::string filled(mlir::Value vector, const std::string& number) const;
  std::string dot(rec::DotOp op) const;

  const Identifiers& names_;
  int keys_;
};

}  // namespace wkvc
