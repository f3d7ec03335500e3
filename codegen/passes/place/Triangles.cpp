#include "codegen/passes/place/Triangles.h"

#include <llvm/ADT/TypeSwitch.h>

using namespace mlir;

namespace wkvc {

namespace {

Triangle both(Triangle a, Triangle b) { return {a.lower && b.lower, a.upper && b.upper}; }
Triangle either(Triangle a, Triangle b) { return {a.lower || b.lower, a.upper || b.upper}; }

}  // namespace

Triangle Triangles::of(Value x) {
  if (auto known = known_.find(x); known != known_.end()) return known->second;
  const Triangle triangle = chunk::rows(x) == chunk::columns(x) ? found(x.getDefiningOp()) : Triangle();
  return known_[x] = triangle;
}

Triangle Triangles::found(Operation* op) {
  const auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation*, Triangle>(op)
      .Case<chunk::TrilOp, chunk::LevelPairsOp, chunk::UnitLowerInverseOp>(
          [](Operation*) { return Triangle{.lower = true}; })
      // Matrices that the forward kernel keeps are inverses, and matrices that tril has made.
      .Case([](chunk::InputOp input) { return Triangle{.lower = input.getKept()}; })
      .Case<chunk::DiagonalDotOp>([](Operation*) { return Triangle{.lower = true, .upper = true}; })
      .Case<chunk::WidenOp, chunk::RoundOp, chunk::NegOp, chunk::KeepValidOp, chunk::OffsetOp>(
          [&](Operation*) { return operand(0); })
      .Case<chunk::AddOp, chunk::SubOp>([&](Operation*) { return both(operand(0), operand(1)); })
      .Case<chunk::MulOp>([&](Operation*) { return either(operand(0), operand(1)); })
      .Case([&](chunk::DotOp dot) {
        const Triangle x = operand(0), y = operand(1);
        return both(dot.getXDim() == 1 ? x : x.transposed(), dot.getYDim() == 0 ? y : y.transposed());
      })
      .Default([](Operation*) { return Triangle(); });
}

}  // namespace wkvc
