#include "codegen/passes/chunk/StateScales.h"

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

namespace {

void set_bound(chunk::RoundOp round, const Bound& bound, double factor) {
  Builder b(round.getContext());
  round.setBoundAttr(products_attr(b, bound));
  round.setFactorAttr(b.getF32FloatAttr(static_cast<float>(factor)));
}

// Bounds end half way to infinity, not where scales leave room for growth: that leaves f16 2^29 above where its
// precision ends. Counts and decays may make a bound so much too large; the rest is for how values are spread.
constexpr double kTight = 1.0 / 128, kLoosest = 1 << 18;

// Whether all warps know the largest |element|: of an input they do, of a state where a scale is taken from it anyway.
bool is_known(chunk::ProgramOp program, llvm::StringRef name) {
  for (Operation& op : program.getBody().front()) {
    auto sym = op.getAttrOfType<StringAttr>("sym");
    if (!sym || sym.getValue() != name) continue;
    if (isa<chunk::InputOp>(op)) return chunk::columns(op.getResult(0)) > 1;
    if (!isa<chunk::StateOp, chunk::SavedStateOp>(op)) continue;
    return llvm::any_of(program.getBody().getOps<chunk::RoundOp>(), [&](chunk::RoundOp round) {
      return takes_scale_of_state(round) && llvm::is_contained(round.getBound()->getAsValueRange<StringAttr>(), name);
    });
  }
  return false;
}

bool is_known(chunk::ProgramOp program, const Bound& bound) {
  return llvm::all_of(bound.products, [&](const auto& product) {
    return !product.empty() && llvm::all_of(product, [&](const std::string& name) { return is_known(program, name); });
  });
}

}  // namespace

void scale_by_states(chunk::ProgramOp program) {
  Spaces spaces = infer_spaces(program);
  for (auto round : program.getBody().getOps<chunk::RoundOp>()) {
    if (!has_own_scale(round) || spaces.lookup(round.getX()) != Space{Axis::value, Axis::key}) continue;
    if (auto bound = bound_of(round.getX(), Known::states)) set_bound(round, *bound, bound->factor);
  }
}

void scale_by_sums(chunk::ProgramOp program) {
  if (!program.getBackward() && !program.getRecompute()) return;
  if (program.getSummary()) return;  // whose maps' rows are no states
  Spaces spaces = infer_spaces(program);
  for (auto round : program.getBody().getOps<chunk::RoundOp>()) {
    if (!has_own_scale(round) || spaces.lookup(round.getX()).rows != Axis::token) continue;
    auto bound = bound_of(round.getX(), Known::sums);
    if (bound && bound->factor <= kLoosest && is_known(program, *bound))
      set_bound(round, *bound, bound->factor * kTight);
  }
}

}  // namespace wkvc
