#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: s [16,K], then for each of two steps e [16,K] of equal rows, v [16 values, 16 tokens], k [16 tokens, K], all
// f32; results for each step: the sum as it was rounded, and after it was added to.
template <int K, class Add>
WKVC_INLINE void step(const KernelArgs<11>& args, const Block& block, int n, ScaledSum<16, K>& sum, Add add) {
  Tile<f32, 16, K> e, k;
  Tile<f32, 16, 16> v;
  load_state(e, args.tensor[3 * n + 1], block, 0);
  load_state(v, args.tensor[3 * n + 2], block, 0);
  load_state(k, args.tensor[3 * n + 3], block, 0);
  sum = sum * row<0>(e);
  write(args.tensor[2 * n + 7], block, 0, widen(round_in_scale<f16>(sum)));
  const auto shared = block.scaled_shared<f16, 16, K>(0, 0x2000);
  store(shared, round_scaled<f16>(k));
  add(sum, round_scaled<f16>(v), trans(shared));
  write(args.tensor[2 * n + 8], block, 0, widen(sum));
}

template <int K>
WKVC_INLINE void steps(const KernelArgs<11>& args, const Block& block) {
  Tile<f32, 16, K> s;
  load_state(s, args.tensor[0], block, 0);
  auto sum = with_scale(s);
  step(args, block, 0, sum, [](auto& acc, const auto& a, const auto& b) { mma_nt(acc, a, b); });
  step(args, block, 1, sum, [](auto& acc, const auto& a, const auto& b) { accumulate(acc, a, b); });
}

WKVC_KERNEL(scaled_sum_16, 11, 1, 1) { steps<16>(args, block); }
WKVC_KERNEL(scaled_sum_64, 11, 1, 1) { steps<64>(args, block); }

// One scale for all: S·kᵀ + v·(k·kᵀ) and S + v·k, as teams take a chunk. Tensors: S [16,64], v [16,16], k [16,64],
// results alike. `start(s, slope, offset)` is the state's sum and its operand, `beside(v, S)` the operand v.
template <class Start, class Beside>
WKVC_INLINE void take_chunk(const KernelArgs<5>& args, const Block& block, Start start, Beside beside) {
  Tile<f32, 16, 64> s, k;
  Tile<f32, 16, 16> v;
  load_state(s, args.tensor[0], block, 0);
  load_state(v, args.tensor[1], block, 0);
  load_state(k, args.tensor[2], block, 0);
  const float k_scale = scale_for(max_abs(k) * 128.f);
  const auto k_f16 = block.shared<f16, 16, 64>(0);
  const auto KK_f16 = block.scaled_shared<f16, 16, 16>(0x1000, 0x2000);
  store(k_f16, round_scaled<f16>(k, k_scale).data);
  store(KK_f16, round_as_is<f16>(product_nt(scaled(k_f16, k_scale), scaled(k_f16, k_scale))));
  auto [sum, s_f16] = start(s, 64.f / 32768, max_abs(v) * k_scale / 32768 + k_scale * 0x1p-120f);
  const auto v_f16 = beside(v, s_f16, k_scale);
  auto o = product_nt(s_f16, scaled(k_f16, k_scale));
  mma_same_scale(o, v_f16, KK_f16);
  mma_same_scale(sum, v_f16, trans(scaled(k_f16, k_scale)));
  write(args.tensor[3], block, 0, widen(o));
  write(args.tensor[4], block, 0, widen(sum));
}

struct Taken {
  ScaledSum<16, 64> sum;
  Scaled<Tile<f16, 16, 64>> rounded;
};

WKVC_KERNEL(same_scale, 5, 1, 1) {
  take_chunk(
      args, block,
      [](const auto& s, float slope, float offset) {
        auto sum = with_scale(s);
        const auto rounded = round_in_scale<f16>(sum, slope, offset);
        return Taken{sum, rounded};
      },
      [](const auto& v, const auto& s_f16, float k_scale) { return round_beside<f16>(v, s_f16, k_scale); });
}

// The same with the scale that warps of a block share, and of v that was rounded before.
WKVC_KERNEL(shared_scale, 5, 1, 1) {
  take_chunk(
      args, block,
      [](const auto& s, float slope, float offset) {
        const auto sum = in_fitting_scale(with_unit_scale(s), max_abs(s), slope, offset);
        return Taken{sum, round_as_is<f16>(sum)};
      },
      [](const auto& v, const auto& s_f16, float k_scale) {
        return round_beside<f16>(round_scaled<f16>(v, scale_for(max_abs(v) * 128.f)), s_f16, k_scale);
      });
}
