// Contractions that compilers would put behind those by groups.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Changes loops where a warp adds a contraction to a product of another contraction and a row, before a contraction by
// groups. Then both are made apart, and added behind, so that the contraction doesn't wait for the product. Compilers
// would put a waiting one behind the contraction by groups. Tensor cores are busy with that one for 128 cycles, and the
// warp issues nothing else meanwhile.
void begin_contractions_early(warp::KernelOp kernel);

}  // namespace wkvc
