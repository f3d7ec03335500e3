#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: a [M,K], b [N,K], a' [K,M], b' [K,N] (the transposes) in T, and results: each is b·aᵀ's mirror a·bᵀ,
// accumulated on ones, with the operands in different places.
template <class T, int M, int N, int K>
WKVC_INLINE void mma(const KernelArgs<5>& args, const Block& block) {
  const auto a = fetch<T, M, K>(args.tensor[0], block);
  const auto b = fetch<T, N, K>(args.tensor[1], block, a.bytes);
  const auto a_t = fetch<T, K, M>(args.tensor[2], block, a.bytes + b.bytes);
  const auto b_t = fetch<T, K, N>(args.tensor[3], block, a.bytes + b.bytes + a_t.bytes);
  const int scales = a.bytes + b.bytes + a_t.bytes + b_t.bytes;
  const TensorArg& out = args.tensor[4];
  int n = 0;
  const auto product = [&](const auto& x, const auto& y) {
    auto acc = zeros<M, N>() + 1.f;
    mma_nt(acc, x, y);
    write(out, block, n++, acc);
  };
  product(load(a), load(b));
  product(a, b);
  product(trans(a_t), trans(b_t));
  product(load(a), trans(b_t));
  product(round_scaled<T>(widen(load(a))), load(b));
  const ScaledShared<T, N, K> scaled{block.shared<T, N, K>(a.bytes), block.floats(scales)};
  store(scaled, round_scaled<T>(widen(load(b))));
  product(a, scaled);
  product(round_scaled<T>(widen(load(a))), scaled);
  const ScaledShared<T, K, N> scaled_t{b_t, block.floats(scales)};
  store_transposed(scaled_t, load(scaled));
  product(trans(a_t), trans(scaled_t));
}

#define CASE(T, M, N, K) \
  WKVC_KERNEL(mma_##T##_##M##_##N##_##K, 5, 1, 1) { mma<T, M, N, K>(args, block); }
#define CASES(T)      \
  CASE(T, 16, 16, 16) \
  CASE(T, 16, 64, 16) \
  CASE(T, 16, 16, 64) \
  CASE(T, 48, 32, 16) \
  CASE(T, 64, 64, 64)
CASES(f16)
CASES(bf16)
CASES(f32)
