// Tiles handed from warp to warp through each kind of barrier. DELETE names one that is left out.
#include "wkvc/tile.h"

using namespace wkvc;

constexpr int kNothing = 0, kBlockBarrier = 1, kNamedBarrier = 2, kMbarrier = 3;
constexpr int kTileBytes = Shared<f32, 16, 16>::bytes;

// Warp w reads what warp w^1 stored.
template <class Wait>
WKVC_INLINE void exchange(const Block& block, int offset, Wait wait) {
  const auto slot = [&](int warp) { return block.shared<f32, 16, 16>(offset + warp * kTileBytes); };
  store(slot(block.warp), zeros<16, 16>() + 1.f);
  wait();
  store(block.shared<f32, 16, 16>((12 + block.warp) * kTileBytes), load(slot(block.warp ^ 1)));
}

WKVC_KERNEL(exchange_all, 1, 4, 1) {
  const auto arrived = block.mbarrier(16 * kTileBytes);
  if (block.warp == 0) arrived.init(4);
  block.barrier();
  exchange(block, 0, [&] {
    if (DELETE != kBlockBarrier) block.barrier();
  });
  exchange(block, 4 * kTileBytes, [&] {
    if (DELETE == kNamedBarrier) return;
    if (block.warp < 2) {
      block.barrier<1>(2);
    } else {
      block.barrier<2>(2);
    }
  });
  exchange(block, 8 * kTileBytes, [&] {
    arrived.arrive();
    if (DELETE != kMbarrier) arrived.wait(0);
  });
}

int main() {
  KernelArgs<1> args{};
  args.batches = 64;
  args.heads = args.vector16 = args.segments = args.group = 1;
  host::Launch launch{17 * kTileBytes};
  return exchange_all(&args, &launch);
}
