#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: x, y [C,K] in T, Lx, Ly [C,K] f32, results (strict, inclusive) on top of ones.
template <class T, int C, int K>
WKVC_INLINE void dot_both_ways(const KernelArgs<5>& args, const Block& block) {
  const auto x = fetch<T, C, K>(args.tensor[0], block);
  const auto y = fetch<T, C, K>(args.tensor[1], block, x.bytes);
  const auto lx = fetch<f32, C, K>(args.tensor[2], block, 2 * x.bytes);
  const auto ly = fetch<f32, C, K>(args.tensor[3], block, 2 * x.bytes + lx.bytes);
  auto strict = zeros<C, C>() + 1.f;
  decayed_dot<false>(strict, x, lx, y, ly);
  write(args.tensor[4], block, 0, strict);
  auto inclusive = zeros<C, C>() + 1.f;
  decayed_dot<true>(inclusive, x, lx, y, ly);
  write(args.tensor[4], block, 1, inclusive);
}

#define CASE(T, C, K) \
  WKVC_KERNEL(decayed_dot_##T##_##C##_##K, 5, 1, 1) { dot_both_ways<T, C, K>(args, block); }
CASE(f32, 16, 64)
CASE(f16, 16, 16)
CASE(bf16, 32, 64)
