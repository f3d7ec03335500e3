// A chunk of a recurrence with one rank-one correction, as an emitted kernel would read.
#include "wkvc/tile.h"

using namespace wkvc;

constexpr int C = 16, K = 64;

// What a kernel keeps in shared memory, one buffer after the other.
template <class Storage, class T>
struct Buffers {
  const Block& block;

  static constexpr int kRaw = Padded<Storage, C, K>::bytes;
  static constexpr int kFactor = Shared<T, C, K>::bytes;
  static constexpr int kMatrix = Shared<T, C, C>::bytes;
  static constexpr int kFactors = 12 * kRaw;
  static constexpr int kMatrices = kFactors + 4 * kFactor;
  static constexpr int kFloats = kMatrices + 4 * kMatrix;

  WKVC_INLINE Ring<Storage, C, K, 2> ring(int i) const { return {block.memory + 2 * i * kRaw}; }
  WKVC_INLINE ScaledShared<T, C, K> factor(int i) const {
    return block.scaled_shared<T, C, K>(kFactors + i * kFactor, kFloats + 4 * i);
  }
  WKVC_INLINE ScaledShared<T, C, C> matrix(int i) const {
    return block.scaled_shared<T, C, C>(kMatrices + i * kMatrix, kFloats + 16 + 4 * i);
  }
  WKVC_INLINE float* maximum() const { return block.floats(kFloats + 32); }
  WKVC_INLINE float* scratch() const { return block.floats(kFloats + 64 + 8 * K); }
  WKVC_INLINE float* e_m() const { return block.floats(kFloats + 64); }
  WKVC_INLINE float* e_rest() const { return block.floats(kFloats + 64 + 4 * K); }
};

// Decays and the four factors, 16 key columns at a time.
template <class Storage, class T>
WKVC_INLINE void prepare(const Buffers<Storage, T>& buffers, int chunk, int valid, int col, float k_scale) {
  const auto raw = [&](int i) { return widen(load(buffers.ring(i)[chunk].template cols<16>(col))); };
  const auto log_w = keep_rows(sigmoid(raw(1)) * -0.6065306597f, valid);
  const auto L = cumsum(log_w);
  const auto m = row<C / 2 - 1>(L);
  store(buffers.factor(0).template cols<16>(col), round_scaled<T>(raw(0) * exp(L - m), 1.f).data);
  store(buffers.factor(1).template cols<16>(col), round_scaled<T>(raw(4) * exp(L - log_w - m), 1.f).data);
  store(buffers.factor(2).template cols<16>(col), round_scaled<T>(raw(2) * exp(m - L), k_scale).data);
  store(buffers.factor(3).template cols<16>(col), round_scaled<T>(raw(5) * exp(m - L), 1.f).data);
  store_row(buffers.e_m() + col, exp(m));
  store_row(buffers.e_rest() + col, exp(row<C - 1>(L) - m));
}

template <class T, class A, class B>
WKVC_INLINE Tile<f32, C, C> dot(const A& a, const B& b) {
  auto x = zeros<C, C>();
  mma_nt(x, a, b);
  return x;
}

template <class Storage, class T>
WKVC_INLINE void chunked(const KernelArgs<9>& args, const Block& block) {
  const Buffers<Storage, T> buffers{block};
  const auto rt = buffers.factor(0), at = buffers.factor(1), kt = buffers.factor(2), bt = buffers.factor(3);
  const auto M = buffers.matrix(0), AK = buffers.matrix(1), RB = buffers.matrix(2), RK = buffers.matrix(3);
  const int v = 16 * block.warp;
  Tile<f32, 16, K> S;
  load_state(S, args.tensor[6], block, v);
  const int chunks = chunk_count<C>(args.tokens);
  // All but warp 0, which inverts, copy two tensors.
  Copies<Storage, C, K, 2, 2> copies;
  const auto of = [&](int warp, int i) { return copied(warp, args.tensor[i], buffers.ring(i)); };
  copies.template take<0>(args, block, of(1, 0), of(2, 1), of(3, 3));
  copies.template take<1>(args, block, of(1, 4), of(2, 5),
                          copied(3, args.tensor[2], buffers.ring(2), buffers.maximum()));
  copies.copy(args, block, 0);
  commit_copies();
  const OutputRows<Storage> o_rows(args.tensor[7], block);
  for (int c = 0; c < chunks; ++c) {
    const int valid = valid_rows<C>(args.tokens, c);
    wait_copies<0>();
    copies.publish_maxima(block, c);
    block.barrier();
    if (c + 1 < chunks) copies.copy(args, block, c + 1);
    commit_copies();
    const float k_scale = scale_for(*buffers.maximum());
    if (block.warp == 0) {
      store_scale(rt, 1.f);
      store_scale(at, 1.f);
      store_scale(kt, k_scale);
      store_scale(bt, 1.f);
    }
    for (int col = 16 * block.warp; col < K; col += 16 * block.warps) prepare(buffers, c, valid, col, k_scale);
    block.barrier();
    if (block.warp == 0)
      store(M, round_scaled<T>(unit_lower_inverse<T>(tril_strict(dot<T>(at, bt)), buffers.scratch())));
    if (block.warp == 1) store(AK, round_scaled<T>(tril_strict(dot<T>(at, kt))));
    if (block.warp == 2) store(RB, round_scaled<T>(tril(dot<T>(rt, bt))));
    if (block.warp == 3) store(RK, round_scaled<T>(tril(dot<T>(rt, kt))));
    block.barrier();
    S = S * load_row<K>(buffers.e_m());
    const auto S16 = round_scaled<T>(S);
    const auto Vt = round_scaled<T>(widen(load_transposed(buffers.ring(3)[c].template cols<16>(v))));
    auto U0 = zeros<16, C>();
    mma_nt(U0, S16, at);
    mma_nt(U0, Vt, AK);
    auto U = zeros<16, C>();
    mma_nt(U, round_scaled<T>(U0), M);
    const auto U16 = round_scaled<T>(U);
    auto O = zeros<16, C>();
    mma_nt(O, S16, rt);
    mma_nt(O, Vt, RK);
    mma_nt(O, U16, RB);
    store_outputs(args, c, valid, output_transposed<Storage>(o_rows, v, O));
    mma_nt(S, Vt, trans(kt));
    mma_nt(S, U16, trans(bt));
    S = S * load_row<K>(buffers.e_rest());
  }
  store_state(S, args.tensor[8], block, v);
}

WKVC_KERNEL(chunked_bf16_f16, 9, 4, 3) { chunked<bf16, f16>(args, block); }
WKVC_KERNEL(chunked_bf16_bf16, 9, 4, 3) { chunked<bf16, bf16>(args, block); }
WKVC_KERNEL(chunked_f32_f32, 9, 4, 2) { chunked<f32, f32>(args, block); }
