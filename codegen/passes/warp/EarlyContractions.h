// Contractions that compilers would put behind those by groups.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Of a kernel whose teams prepare rounds ahead, with at most 128 keys: where a contraction is added to a product with a
// row, in a round with contractions by groups, both are made apart, and then added. The contraction doesn't wait for
// the product then. Compilers would put a waiting contraction behind those by groups, which keep tensor cores busy for
// 128 cycles, and so all that the warp does next. (Wider states leave no registers. Backward, groups make such
// products.)
void begin_contractions_early(warp::KernelOp kernel);

}  // namespace wkvc
