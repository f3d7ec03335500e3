#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

constexpr int kRows = 32;

// Tensors: a matrix [C,C], of which the lower triangle counts, x [32,C], and results: x times the triangle's transpose
// and x times the triangle, and both transposed.
template <int C>
WKVC_INLINE void products(const KernelArgs<4>& args, const Block& block) {
  const auto triangle = block.shared<f32, C, C>(0);
  const auto tile = tril(read<f32, C, C>(args.tensor[0], block));
  store(triangle, tile);
  block.barrier();
  const auto x = read<f32, kRows, C>(args.tensor[1], block, triangle.bytes);
  auto by_lower = zeros<kRows, C>() + 1.f, by_upper = by_lower;
  mma_nt(by_lower, x, lower(triangle));
  mma_nt(by_upper, x, upper(trans(triangle)));
  write(args.tensor[2], block, 0, by_lower);
  write(args.tensor[2], block, 1, by_upper);
  auto lower_by = zeros<C, kRows>() + 1.f, upper_by = lower_by;
  mma_nt(lower_by, lower(tile), x);
  mma_nt(upper_by, upper(trans(triangle)), x);
  write(args.tensor[3], block, 0, lower_by);
  write(args.tensor[3], block, 1, upper_by);
}

WKVC_KERNEL(triangular_16, 4, 1, 1) { products<16>(args, block); }
WKVC_KERNEL(triangular_48, 4, 1, 1) { products<48>(args, block); }
