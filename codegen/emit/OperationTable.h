// The functions that write operations, by operation, for texts of any dialect.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/Operation.h>

#include <functional>

#include "runtime/error.h"

namespace wkvc {

template <class Text>
class OperationTable {
 public:
  template <class Op>
  void add(void (*writer)(Text&, Op)) {
    by_operation_[mlir::TypeID::get<Op>()] = [writer](Text& text, mlir::Operation& op) {
      writer(text, mlir::cast<Op>(op));
    };
  }

  void write(Text& text, mlir::Operation& op) const {
    auto it = by_operation_.find(op.getName().getTypeID());
    if (it == by_operation_.end()) internal_error("no text for '{}'", op.getName().getStringRef().str());
    it->second(text, op);
  }

 private:
  llvm::DenseMap<mlir::TypeID, std::function<void(Text&, mlir::Operation&)>> by_operation_;
};

}  // namespace wkvc
