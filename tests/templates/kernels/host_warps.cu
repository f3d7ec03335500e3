// What a host does for warps and clusters that stand for a GPU's.
#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// The first element of x [2,16] f32 of each head is copied by warp 0; row n of seen [2,16] begins with 1 where the copy
// is there: after warp 1 has waited for its own copies, of which there are none, and after warp 0 has.
WKVC_KERNEL(own_copies, 2, 2, 1) {
  f32* const to = block.shared<f32, 16, 16>(0).at(0, 0);
  const f32* const from = global_row<const f32>(args.tensor[0], block, 0);
  const auto look = [&](int row) {
    if (block.warp == 0) *global_row<f32>(args.tensor[1], block, row) = *to == *from ? 1.f : 0.f;
  };
  if (block.warp == 0) copy::piece(to, from, true);
  commit_copies();
  block.barrier();
  if (block.warp == 1) wait_copies<0>();
  block.barrier();
  look(0);
  wait_copies<0>();
  look(1);
}

// Each warp touches 256 KB of its stack; the last one stores 1 in x [1,16] f32 of each head.
WKVC_KERNEL(large_frames, 1, 2, 1) {
  constexpr int kBytes = 1 << 18;
  volatile char frame[kBytes];
  for (int i = 0; i < kBytes; i += 512) frame[i] = 1;
  block.barrier();
  if (block.warp == 1) *global_row<f32>(args.tensor[0], block, 0) = frame[0];
}

// Blocks wait in vain, all but the first; the second one after the others.
WKVC_KERNEL(late_deadlock, 1, 2, 1) {
  volatile int n = 0;
  while (block.head == 1 && n < 10'000'000) n = n + 1;
  if (block.head > 0 && block.warp == 1) block.barrier();
}
