// Small chunk programs whose values have places, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "codegen/ir/Text.h"
#include "codegen/passes/place/Placing.h"
#include "codegen/warp/Warp.h"
#include "tests/chunk/chunk_text.h"

namespace wkvc::test {

// A program of 16 tokens, 32 keys and 48 values, and the places that the rules give its values.
class Placed {
 public:
  explicit Placed(const std::string& text, int warps = 3, bool teams = false, Stored keep = Stored::sums)
      : module_(parsed(text)), placement_(stored(place_values(program(), warps, teams), keep)) {}

  chunk::ProgramOp program() { return *module_->getBody()->getOps<chunk::ProgramOp>().begin(); }
  const Placement& placement() const { return placement_; }

  // The operation whose result has this name.
  mlir::Operation* op(const std::string& name) {
    mlir::Operation* found = nullptr;
    for (mlir::Operation& op : program().getBody().front())
      if (op.getNumResults() && name_of(op.getResult(0)) == name) found = &op;
    if (!found) ADD_FAILURE() << "no value is called " << name;
    return found;
  }
  const ValuePlace& operator[](const std::string& name) { return placement_.of(op(name)); }

 private:
  mlir::OwningOpRef<mlir::ModuleOp> parsed(const std::string& text) {
    context_.loadDialect<chunk::ChunkDialect, warp::WarpDialect>();
    return parse(text, context_);
  }

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Placement placement_;
};

// L is read again in the phase behind a barrier.
inline constexpr const char* read_again = R"(  %L = chunk.cumsum %x : tensor<16x32xf32>
  %eL = chunk.exp2 %L : tensor<16x32xf32>
  %sum = chunk.sum_columns %eL : tensor<16x32xf32> -> tensor<16x1xf32>
  %late = chunk.mul %L, %sum : tensor<16x32xf32>, tensor<16x1xf32> -> tensor<16x32xf32>
  chunk.output "y" %late as "f32" : tensor<16x32xf32>
)";

}  // namespace wkvc::test
