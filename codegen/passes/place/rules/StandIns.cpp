#include "codegen/passes/place/rules/StandIns.h"

#include <llvm/ADT/DenseSet.h>

#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

namespace {

// Whether all that is made of a value, at any distance, grows with it: then what is tiny beside its maximum counts
// little.
bool is_linear_in(Value x, llvm::DenseSet<Operation*>& seen) {
  return llvm::all_of(x.getUsers(), [&](Operation* user) {
    if (!seen.insert(user).second) return true;
    const bool bends =
        isa<chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp, chunk::SoftplusOp,
            chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::AtLeastOp, chunk::ExceedsOp, chunk::NotBelowOp>(
            user);
    return !bends && llvm::all_of(user->getResults(), [&](Value result) { return is_linear_in(result, seen); });
  });
}

bool is_linear_in(Value x) {
  llvm::DenseSet<Operation*> seen;
  return is_linear_in(x, seen);
}

// Whether it rounds an input of 16 bits.
bool rounds_input(chunk::RoundOp round) {
  auto widen = round.getX().getDefiningOp<chunk::WidenOp>();
  return widen && widen.getX().getDefiningOp<chunk::InputOp>() &&
         chunk::element(widen.getX()).getIntOrFloatBitWidth() == 16;
}

bool may_stand_in(chunk::RoundOp round, const Placement& placement) {
  const bool stays =
      placement.is_shared(round.getResult()) && placement.of(round.getResult()).phase < placement.first_of_rows();
  return rounds_input(round) && stays && (has_bound(round) || placement.program().getPlain()) &&
         chunk::element(round.getResult()).isF16() && llvm::none_of(round.getX().getUsers(), is_contraction) &&
         is_linear_in(round.getX());
}

}  // namespace

void find_stand_ins(Placement& placement) {
  if (!placement.program().getBackward()) return;
  for (auto round : placement.body().getOps<chunk::RoundOp>())
    if (may_stand_in(round, placement) && !stand_in(round.getX(), placement.first_of_rows(), placement))
      placement.at(round).storage = Storage::stand_in;
}

}  // namespace wkvc
