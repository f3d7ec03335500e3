#include "codegen/lower/StateScales.h"

#include "codegen/lower/Axes.h"
#include "codegen/lower/ChunkBuilder.h"
#include "codegen/lower/Placement.h"

using namespace mlir;

namespace wkvc {

void scale_by_states(chunk::ProgramOp program) {
  Builder b(program.getContext());
  Spaces spaces = infer_spaces(program);
  for (auto round : program.getBody().getOps<chunk::RoundOp>()) {
    if (!has_own_scale(round) || spaces.lookup(round.getX()) != Space{Axis::value, Axis::key}) continue;
    auto bound = bound_of(round.getX(), /*of_states=*/true);
    if (!bound) continue;
    llvm::SmallVector<llvm::StringRef> names(bound->inputs.begin(), bound->inputs.end());
    round.setBoundAttr(b.getStrArrayAttr(names));
    round.setFactorAttr(b.getF32FloatAttr(static_cast<float>(bound->factor)));
  }
}

}  // namespace wkvc
