// Exponents of strips that are made of exponents or exponentials that are there.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// In strips, L being the running sum of w down the rows and m a row or a number:
//   2^(L − w − m) is 2^(L − m) of the row before, if that is there, too: rows are shifted, and the first one is made;
//   2^(m − L) has the exponent L − m negated, if that is there, too, which costs nothing.
void reuse_exponentials(warp::KernelOp kernel);

}  // namespace wkvc
