// Results as `wkvc check` judges them.
#pragma once

#include <mlir/IR/MLIRContext.h>

#include <string>
#include <vector>

#include "checking/reference/reference.h"
#include "tests/run/run.h"

namespace wkvc::test {

class Judge {
 public:
  // Of kernels with this joint manifest, of the recurrence `rec`, on the problem's values.
  Judge(const Manifest& program, const std::string& rec, const Problem& problem);

  // Returns why `check` fails the result of this name, or nothing.
  std::string fault_of(const std::string& result, const std::vector<double>& values) const;

 private:
  Runnable runnable_;
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Case given_;
  Reference reference_;
};

}  // namespace wkvc::test
