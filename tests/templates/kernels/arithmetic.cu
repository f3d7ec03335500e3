#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: x [R,C], y [R,C], results. Row 3 and column 0 of y serve as vectors.
template <int R, int C>
WKVC_INLINE void arithmetic(const KernelArgs<3>& args, const Block& block) {
  const auto x = read<f32, R, C>(args.tensor[0], block);
  const auto y = read<f32, R, C>(args.tensor[1], block, R * (C + 8) * 4);
  const RowVec<C> r = row<3>(y);
  const ColVec<R> c = sum_columns(y);
  const TensorArg& out = args.tensor[2];
  write(out, block, 0, x + y);
  write(out, block, 1, x - y);
  write(out, block, 2, x * y);
  write(out, block, 3, x * r - r);
  write(out, block, 4, c + x * c);
  write(out, block, 5, 2.f - x * 3.f);
  write(out, block, 6, r - x);
  write(out, block, 7, -x);
  write(out, block, 8, zeros<R, C>() + (-r * r + 1.f));
  write(out, block, 9, maximum(x, 0.25f));
  write(out, block, 10, greater_than(x, 0.25f));
  write(out, block, 11, zeros<R, C>() + greater_than(r, 0.25f));
  write(out, block, 12, settled(decaying(x, r)));
  write(out, block, 13, decaying(x, r) * r);
  write(out, block, 14, settled(decaying(x)));
  write(out, block, 15, not_below(maximum(x, 0.25f), 0.25f));
  write(out, block, 16, greater_than(not_below(x, 0.25f), -100.f));  // not of NaN
}

#define CASE(R, C) \
  WKVC_KERNEL(arithmetic_##R##_##C, 3, 1, 1) { arithmetic<R, C>(args, block); }
CASE(16, 16)
CASE(16, 64)
CASE(48, 32)
