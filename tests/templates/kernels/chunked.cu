#include "wkvc/tile.h"
using namespace wkvc;
constexpr int C = 16, K = 64;
using T = bf16;
WKVC_KERNEL(chunked, 9, 4, 4) {
  constexpr int raw = Shared<T, C, K>::bytes;
  constexpr int op = Shared<f16, C, K>::bytes;
  constexpr int cc = Shared<f16, C, C>::bytes;
  const int base = 12 * raw;
  auto rt = block.scaled_shared<f16, C, K>(base, base + 4 * op + 4 * cc);
  auto at = block.scaled_shared<f16, C, K>(base + op, base + 4 * op + 4 * cc + 4);
  auto kt = block.scaled_shared<f16, C, K>(base + 2 * op, base + 4 * op + 4 * cc + 8);
  auto bt = block.scaled_shared<f16, C, K>(base + 3 * op, base + 4 * op + 4 * cc + 12);
  auto M_s = block.scaled_shared<f16, C, C>(base + 4 * op, base + 4 * op + 4 * cc + 16);
  auto AK = block.scaled_shared<f16, C, C>(base + 4 * op + cc, base + 4 * op + 4 * cc + 20);
  auto RB = block.scaled_shared<f16, C, C>(base + 4 * op + 2 * cc, base + 4 * op + 4 * cc + 24);
  auto RK = block.scaled_shared<f16, C, C>(base + 4 * op + 3 * cc, base + 4 * op + 4 * cc + 28);
  const int floats = base + 4 * op + 4 * cc + 32;
  float* e_m = block.floats(floats);
  float* e_rest = block.floats(floats + 4 * K);
  float* slots = block.floats(floats + 8 * K);
  Tile<f32, 16, K> S;
  load_state(S, args.tensor[6], block, 16 * block.warp);
  const long long chunks = (args.tokens + C - 1) / C;
  auto fetch = [&](long long c) {
    for (int i = 0; i < 6; ++i) copy_async(block.shared<T, C, K>((2 * i + (c & 1)) * raw), args.tensor[i], block, c * C, (int)(args.tokens - c * C));
    commit_copies();
  };
  fetch(0);
  for (long long c = 0; c < chunks; ++c) {
    const int valid = (int)(args.tokens - c * C);
    const int half = (int)(c & 1);
    auto r_raw = block.shared<T, C, K>((0 + half) * raw);
    auto w_raw = block.shared<T, C, K>((2 + half) * raw);
    auto k_raw = block.shared<T, C, K>((4 + half) * raw);
    auto v_raw = block.shared<T, C, K>((6 + half) * raw);
    auto a_raw = block.shared<T, C, K>((8 + half) * raw);
    auto b_raw = block.shared<T, C, K>((10 + half) * raw);
    wait_copies<0>();
    publish_max(slots, block, copied_max(k_raw, block));
    block.barrier();
    if (c + 1 < chunks) fetch(c + 1);
    const float k_scale = scale_for(block_max(slots, block));
    if (block.warp == 0) { store_scale(kt, k_scale); store_scale(rt, 1.f); store_scale(at, 1.f); store_scale(bt, 1.f); }
    for (int col = 16 * block.warp; col < K; col += 16 * block.warps) {
      auto w = widen(load(w_raw.cols<16>(col)));
      auto log_w = keep_rows(sigmoid(w) * -0.6065306597f, valid);
      auto L = cumsum(log_w);
      auto m = row<C / 2 - 1>(L);
      auto up = exp(L - m), down = exp(m - L), before = exp(L - log_w - m);
      store(rt.cols<16>(col), round_scaled<f16>(widen(load(r_raw.cols<16>(col))) * up, 1.f).data);
      store(at.cols<16>(col), round_scaled<f16>(widen(load(a_raw.cols<16>(col))) * before, 1.f).data);
      store(kt.cols<16>(col), round_scaled<f16>(widen(load(k_raw.cols<16>(col))) * down, k_scale).data);
      store(bt.cols<16>(col), round_scaled<f16>(widen(load(b_raw.cols<16>(col))) * down, 1.f).data);
      store_row(e_m + col, exp(m));
      store_row(e_rest + col, exp(row<C - 1>(L) - m));
    }
    block.barrier();
    if (block.warp == 0) { auto AB = zeros<C, C>(); mma_nt(AB, at, bt); auto M = unit_lower_inverse<f16>(tril_strict(AB)); store(M_s, round_scaled<f16>(M)); }
    if (block.warp == 1) { auto X = zeros<C, C>(); mma_nt(X, at, kt); store(AK, round_scaled<f16>(tril_strict(X))); }
    if (block.warp == 2) { auto X = zeros<C, C>(); mma_nt(X, rt, bt); store(RB, round_scaled<f16>(tril(X))); }
    if (block.warp == 3) { auto X = zeros<C, C>(); mma_nt(X, rt, kt); store(RK, round_scaled<f16>(tril(X))); }
    block.barrier();
    S = S * load_row<K>(e_m);
    auto S16 = round_scaled<f16>(S);
    auto Vt = round_scaled<f16>(widen(load_transposed(v_raw.cols<16>(16 * block.warp))));
    auto U0 = zeros<16, C>(); mma_nt(U0, S16, at); mma_nt(U0, Vt, AK);
    auto U = zeros<16, C>(); mma_nt(U, round_scaled<f16>(U0), M_s);
    auto U16 = round_scaled<f16>(U);
    auto O = zeros<16, C>(); mma_nt(O, S16, rt); mma_nt(O, Vt, RK); mma_nt(O, U16, RB);
    store_global_transposed<T>(args.tensor[7], block, c * C, valid, 16 * block.warp, O);
    mma_nt(S, Vt, trans(kt)); mma_nt(S, U16, trans(bt));
    S = S * load_row<K>(e_rest);
  }
  store_state(S, args.tensor[8], block, 16 * block.warp);
}
