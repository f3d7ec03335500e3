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

// Tensors: x, y, Lx, Ly as above, g [C,C] f32, and the products of the left and the right on top of ones, strict and
// inclusive, 16 columns at a time.
template <class T, int C, int K>
WKVC_INLINE void products_both_ways(const KernelArgs<6>& args, const Block& block) {
  const auto x = fetch<T, C, K>(args.tensor[0], block);
  const auto y = fetch<T, C, K>(args.tensor[1], block, x.bytes);
  const auto lx = fetch<f32, C, K>(args.tensor[2], block, 2 * x.bytes);
  const auto ly = fetch<f32, C, K>(args.tensor[3], block, 2 * x.bytes + lx.bytes);
  const auto g = fetch<f32, C, C>(args.tensor[4], block, 2 * x.bytes + 2 * lx.bytes);
  for (int k = 0; k < K; k += 16) {
    const auto xk = x.template cols<16>(k), yk = y.template cols<16>(k);
    const auto lxk = lx.template cols<16>(k), lyk = ly.template cols<16>(k);
    auto left = zeros<C, 16>() + 1.f, right = left, inclusive_left = left, inclusive_right = left;
    decayed_left<false>(left, g, yk, lxk, lyk);
    decayed_right<false>(right, g, xk, lxk, lyk);
    decayed_left<true>(inclusive_left, g, yk, lxk, lyk);
    decayed_right<true>(inclusive_right, g, xk, lxk, lyk);
    store_outputs(args, block, 0, C, output<f32>(args.tensor[5], k, left));
    store_outputs(args, block, 1, C, output<f32>(args.tensor[5], k, right));
    store_outputs(args, block, 2, C, output<f32>(args.tensor[5], k, inclusive_left));
    store_outputs(args, block, 3, C, output<f32>(args.tensor[5], k, inclusive_right));
  }
}

#define CASE(T, C, K)                                                                        \
  WKVC_KERNEL(decayed_dot_##T##_##C##_##K, 5, 1, 1) { dot_both_ways<T, C, K>(args, block); } \
  WKVC_KERNEL(decayed_vjp_##T##_##C##_##K, 6, 1, 1) { products_both_ways<T, C, K>(args, block); }
CASE(f32, 16, 64)
CASE(f16, 16, 16)
CASE(bf16, 32, 64)
