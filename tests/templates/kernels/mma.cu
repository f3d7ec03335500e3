#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Writes 1 + x·yᵀ as the n-th result.
template <int M, int N, class X, class Y>
WKVC_INLINE void product(const TensorArg& out, const Block& block, int n, const X& x, const Y& y) {
  auto acc = zeros<M, N>() + 1.f;
  mma_nt(acc, x, y);
  write(out, block, n, acc);
}

// Tensors: a [M,K] in A, b [N,K] in B, their transposes [K,M] and [K,N], and results: a·bᵀ with the operands in
// different places.
template <class A, class B, int M, int N, int K>
WKVC_INLINE void products(const KernelArgs<5>& args, const Block& block) {
  const auto a = fetch<A, M, K>(args.tensor[0], block);
  const auto b = fetch<B, N, K>(args.tensor[1], block, a.bytes);
  const auto a_t = fetch<A, K, M>(args.tensor[2], block, a.bytes + b.bytes);
  const auto b_t = fetch<B, K, N>(args.tensor[3], block, a.bytes + b.bytes + a_t.bytes);
  float* scale = block.floats(a.bytes + b.bytes + a_t.bytes + b_t.bytes);
  const TensorArg& out = args.tensor[4];
  const auto scaled_a = round_scaled<A>(widen(load(a)));
  product<M, N>(out, block, 0, load(a), load(b));
  product<M, N>(out, block, 1, a, b);
  product<M, N>(out, block, 2, trans(a_t), trans(b_t));
  product<M, N>(out, block, 3, load(a), trans(b_t));
  product<M, N>(out, block, 4, scaled_a, load(b));
  const ScaledShared<B, N, K> scaled_b{b, scale};
  store(scaled_b, round_scaled<B>(widen(load(b))));
  product<M, N>(out, block, 5, a, scaled_b);
  product<M, N>(out, block, 6, scaled_a, scaled_b);
  const ScaledShared<B, K, N> scaled_b_t{b_t, scale};
  store_transposed(scaled_b_t, load(scaled_b));
  product<M, N>(out, block, 7, trans(a_t), trans(scaled_b_t));
}

#define CASE(T, M, N, K) \
  WKVC_KERNEL(mma_##T##_##M##_##N##_##K, 5, 1, 1) { products<T, T, M, N, K>(args, block); }
#define CASES(T)      \
  CASE(T, 16, 16, 16) \
  CASE(T, 16, 64, 16) \
  CASE(T, 16, 16, 64) \
  CASE(T, 48, 32, 16)
CASES(f16)
CASES(bf16)
CASES(tf32)
CASES(bf16x3)
CASES(f16x2)
CASES(f32)
CASE(f16, 64, 64, 32)
#define MIXED(A, B, M, N, K) \
  WKVC_KERNEL(mma_##A##_##B##_##M##_##N##_##K, 5, 1, 1) { products<A, B, M, N, K>(args, block); }
MIXED(f16, f16x2, 16, 16, 16)
MIXED(f16, f16x2, 48, 32, 16)
MIXED(f16x2, f16, 16, 16, 16)
MIXED(f16x2, f16, 48, 32, 16)

// Tensors: x [16,16], and x rounded.
#define ROUND(T)                                                                                \
  WKVC_KERNEL(round_##T, 2, 1, 1) {                                                             \
    write(args.tensor[1], block, 0, widen(round<T>(read<f32, 16, 16>(args.tensor[0], block)))); \
  }
ROUND(tf32)
ROUND(bf16x3)
ROUND(f16x2)
