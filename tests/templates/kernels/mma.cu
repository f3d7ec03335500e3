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

// Tensors: a [M,K], b [N,K], their transposes [K,M] and [K,N] in T, and results: a·bᵀ with the operands in different
// places.
template <class T, int M, int N, int K>
WKVC_INLINE void products(const KernelArgs<5>& args, const Block& block) {
  const auto a = fetch<T, M, K>(args.tensor[0], block);
  const auto b = fetch<T, N, K>(args.tensor[1], block, a.bytes);
  const auto a_t = fetch<T, K, M>(args.tensor[2], block, a.bytes + b.bytes);
  const auto b_t = fetch<T, K, N>(args.tensor[3], block, a.bytes + b.bytes + a_t.bytes);
  float* scale = block.floats(a.bytes + b.bytes + a_t.bytes + b_t.bytes);
  const TensorArg& out = args.tensor[4];
  const auto scaled_a = round_scaled<T>(widen(load(a)));
  product<M, N>(out, block, 0, load(a), load(b));
  product<M, N>(out, block, 1, a, b);
  product<M, N>(out, block, 2, trans(a_t), trans(b_t));
  product<M, N>(out, block, 3, load(a), trans(b_t));
  product<M, N>(out, block, 4, scaled_a, load(b));
  const ScaledShared<T, N, K> scaled_b{b, scale};
  store(scaled_b, round_scaled<T>(widen(load(b))));
  product<M, N>(out, block, 5, a, scaled_b);
  product<M, N>(out, block, 6, scaled_a, scaled_b);
  const ScaledShared<T, K, N> scaled_b_t{b_t, scale};
  store_transposed(scaled_b_t, load(scaled_b));
  product<M, N>(out, block, 7, trans(a_t), trans(scaled_b_t));
}

#define CASE(T, M, N, K) \
  WKVC_KERNEL(mma_##T##_##M##_##N##_##K, 5, 1, 1) { products<T, M, N, K>(args, block); }
#define CASES(T)      \
  CASE(T, 16, 16, 16) \
  CASE(T, 16, 64, 16) \
  CASE(T, 16, 16, 64) \
  CASE(T, 48, 32, 16)
CASES(f16)
CASES(bf16)
CASES(tf32)
CASES(bf16x3)
CASES(f32)
CASE(f16, 64, 64, 32)

// Tensors: x [16,16], and x rounded.
#define ROUND(T)                                                                                \
  WKVC_KERNEL(round_##T, 2, 1, 1) {                                                             \
    write(args.tensor[1], block, 0, widen(round<T>(read<f32, 16, 16>(args.tensor[0], block)))); \
  }
ROUND(tf32)
ROUND(bf16x3)
