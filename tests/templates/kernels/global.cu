#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Copies x chunk by chunk to y, and its transpose through store_global_transposed to z; m gets the block's maximum.
// Tensors: x [B,T,H,D] in T, y and z alike, m [B,chunks,H,16] f32.
template <class T, int C, int D>
WKVC_INLINE void copies(const KernelArgs<4>& args, const Block& block) {
  constexpr int kBytes = Shared<T, C, D>::bytes;
  float* slots = block.floats(2 * kBytes);
  const auto fetch_chunk = [&](long long chunk) {
    const long long left = args.tokens - chunk * C;
    copy_async(block.shared<T, C, D>(chunk % 2 * kBytes), args.tensor[0], block, chunk * C,
               static_cast<int>(left < C ? left : C));
    commit_copies();
  };
  const long long chunks = (args.tokens + C - 1) / C;
  fetch_chunk(0);
  for (long long chunk = 0; chunk < chunks; ++chunk) {
    if (chunk + 1 < chunks) {
      fetch_chunk(chunk + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    const auto x = block.shared<T, C, D>(chunk % 2 * kBytes);
    publish_max(slots, block, copied_max(x, block));
    block.barrier();
    const float largest = block_max(slots, block);
    const int valid = static_cast<int>(args.tokens - chunk * C);
    for (int column = 16 * block.warp; column < D; column += 16 * block.warps) {
      const auto slab = x.template cols<16>(column);
      store_global<T>(args.tensor[1], block, chunk * C, valid, column, widen(load(slab)));
      store_global_transposed<T>(args.tensor[2], block, chunk * C, valid, column, widen(load_transposed(slab)));
    }
    if (block.warp == 0) store_global<f32>(args.tensor[3], block, chunk, 1, 0, zeros<16, 16>() + largest);
    block.barrier();
  }
}

#define CASE(T, C, D, WARPS) \
  WKVC_KERNEL(copies_##T##_##C##_##D##_##WARPS, 4, WARPS, 1) { copies<T, C, D>(args, block); }
CASE(f32, 16, 64, 4)
CASE(f16, 16, 64, 1)
CASE(bf16, 16, 64, 4)
CASE(bf16, 32, 128, 3)

// Tensors: state [B,H,V,K], new state, parameters [H,K] in bf16 as [1,1,H,K]. The new state is (state + 1) *
// parameters.
WKVC_KERNEL(states, 3, 4, 1) {
  Tile<f32, 16, 64> state;
  load_state(state, args.tensor[0], block, 16 * block.warp);
  const auto parameters = load_parameter_row<bf16, 64>(args.tensor[2], block, 0);
  store_state((state + 1.f) * parameters, args.tensor[1], block, 16 * block.warp);
}
