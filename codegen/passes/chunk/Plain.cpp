#include "codegen/passes/chunk/Plain.h"

#include <llvm/ADT/StringSet.h>

#include <cmath>

#include "codegen/passes/place/Placement.h"

using namespace mlir;

namespace wkvc {

namespace {

// A factor of an operand that would leave it few of f16's digits.
constexpr double kSmall = 0x1p-10;

bool is_small(chunk::ConstantOp op) {
  const double magnitude = std::abs(op.getValue().convertToDouble());
  return magnitude > 0 && magnitude < kSmall;
}

bool has_scales(chunk::ProgramOp program) {
  return llvm::any_of(program.getBody().getOps<chunk::RoundOp>(),
                      [](chunk::RoundOp round) { return round.getBound().has_value(); });
}

// The inputs that scales are taken from, gradients aside: those have a unit of their own.
llvm::SmallVector<llvm::StringRef> scaling_inputs(chunk::ProgramOp program) {
  llvm::StringSet<> bounding;
  for (auto round : program.getBody().getOps<chunk::RoundOp>())
    for (const auto& product : chunk::products(round))
      for (llvm::StringRef name : product) bounding.insert(name);
  llvm::SmallVector<llvm::StringRef> names;
  for (auto input : program.getBody().getOps<chunk::InputOp>())
    if (bounding.contains(input.getSym()) && !input.getGradientOf() && !input.getKept())
      names.push_back(input.getSym());
  return names;
}

// Contractions that read gradients as they are stored, in no unit.
bool reads_gradients(Operation* op) {
  if (!isa<chunk::DotOp, chunk::ColumnDotsOp, chunk::DiagonalDotOp>(op)) return false;
  return llvm::any_of(op->getOperands(), [](Value x) {
    auto input = x.getDefiningOp<chunk::InputOp>();
    return input && input.getGradientOf();
  });
}

// Whether a program without scales notices where it does not hold.
bool may_be_plain(chunk::ProgramOp program) {
  return has_scales(program) && llvm::none_of(program.getBody().getOps<chunk::ConstantOp>(), is_small) &&
         llvm::none_of(program.getBody().getOps(), [](Operation& op) { return reads_gradients(&op); });
}

}  // namespace

void add_plain(chunk::ProgramOp program, chunk::ProgramOp source) {
  const bool has_one = program.getPlain() || program.getRefused();
  if (has_one || !may_be_plain(source)) return;
  OpBuilder b(program);
  auto plain = cast<chunk::ProgramOp>(b.clone(*source));
  plain.setPlainAttr(b.getStrArrayAttr(scaling_inputs(source)));
  plain.setCompute(program.getCompute());
  for (auto round : plain.getBody().getOps<chunk::RoundOp>()) {
    round.removeBoundAttr();
    round.removeFactorAttr();
  }
  program.setRefused(true);
}

bool refuses_early(chunk::ProgramOp program) {
  return program.getPlain() && !program.getSummary() && !program.getBody().getOps<chunk::NotBelowOp>().empty();
}

}  // namespace wkvc
