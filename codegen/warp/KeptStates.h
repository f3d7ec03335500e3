// States that kernels keep for each other, or for a later loop of their own.
#pragma once

#include <mlir/IR/Types.h>

namespace wkvc::warp {

// Returns whether a kernel brings states that it keeps in this dtype into the dtype's range by a power of two. A plain
// kernel refuses what f16 does not hold.
inline bool fits_kept(mlir::Type dtype, bool plain) { return dtype.isF16() && !plain; }

}  // namespace wkvc::warp
