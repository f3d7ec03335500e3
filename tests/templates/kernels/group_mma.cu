#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: a [16 W,K], b [N,K] and its transpose [K,N] in T, results [16 W,N], one after the other: of a·bᵀ begun with
// 1, and of two at once, 1 + a·bᵀ + a·bᵀ and 2 + a·bᵀ.
template <class T, int W, int N, int K, bool Trans>
WKVC_INLINE void group_products(const KernelArgs<4>& args, const Block& block) {
  const auto a = fetch<T, 16 * W, K>(args.tensor[0], block);
  const auto b = fetch<T, N, K>(args.tensor[1], block, a.bytes);
  const auto b_t = fetch<T, K, N>(args.tensor[2], block, a.bytes + b.bytes);
  block.before_async_reads();
  block.barrier();
  const auto own = load(a.template rows<16>(16 * block.warp));
  const auto put = [&](int n, const Tile<f32, 16, N>& x) {
    store_rows(global_row<f32>(args.tensor[3], block, (n * W + block.warp) * 16), row_stride(args.tensor[3]), x, false);
  };
  auto one = zeros<16, N>() + 1.f, sum = one, other = zeros<16, N>() + 2.f;
  if constexpr (Trans) {
    group_mma(term(one, own, trans(b_t)));
    group_mma(term(sum, own, trans(b_t)), term(other, own, trans(b_t)), term(sum, own, trans(b_t)));
  } else {
    group_mma(term(one, own, b));
    group_mma(term(sum, own, b), term(other, own, b), term(sum, own, b));
  }
  put(0, one);
  put(1, sum);
  put(2, other);
}

#define CASE(T, W, N, K, TRANS)                                     \
  WKVC_KERNEL(group_mma_##T##_##W##_##N##_##K##_##TRANS, 4, W, 1) { \
    group_products<T, W, N, K, (TRANS) != 0>(args, block);          \
  }
CASE(f16, 4, 16, 128, 0)
CASE(f16, 8, 32, 128, 0)
CASE(bf16, 4, 16, 64, 0)
CASE(f16, 4, 64, 16, 1)
CASE(bf16, 8, 192, 32, 1)
CASE(f16, 4, 128, 16, 1)
CASE(f16, 8, 256, 16, 1)
CASE(bf16, 4, 128, 32, 1)
