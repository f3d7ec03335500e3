#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Two producer warps fill a ring of two slots, each half a slot; two consumer warps add up the other half.
// Tensors: x [T,16] f32 in chunks of 16 tokens, sums [16,32] of x + 16 and x.
WKVC_KERNEL(ring, 2, 8, 1) {
  constexpr int kSlots = 2;
  constexpr int kBytes = Shared<f32, 16, 32>::bytes;
  const auto full = [&](int slot) { return block.mbarrier(kSlots * kBytes + 16 * slot); };
  const auto empty = [&](int slot) { return block.mbarrier(kSlots * kBytes + 16 * slot + 8); };
  if (block.warp == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      full(slot).init(2);
      empty(slot).init(2);
    }
  }
  block.barrier();
  const int chunks = static_cast<int>(args.tokens / 16);
  const bool produces = block.warp < 4;
  const int column = 16 * (block.warp % 4);
  auto sum = zeros<16, 16>();
  for (int c = 0; c < chunks && block.warp % 4 < 2; ++c) {
    const int slot = c % kSlots, parity = c / kSlots % 2;
    const auto half = block.shared<f32, 16, 32>(slot * kBytes).cols<16>(column);
    if (produces) {
      empty(slot).wait(parity ^ 1);
      Tile<f32, 16, 16> x;
      load_state(x, args.tensor[0], block, 16 * c);
      store(half, x + static_cast<float>(column));
      full(slot).arrive();
    } else {
      full(slot).wait(parity);
      sum = sum + load(block.shared<f32, 16, 32>(slot * kBytes).cols<16>(16 - column));
      empty(slot).arrive();
    }
  }
  if (!produces && block.warp % 4 < 2)
    store_outputs(args, 0, 16, output<f32>(OutputRows<f32>(args.tensor[1], block), column, sum));
}

// Which of rounds 0, 10, 20, … the second warp finds left out, in a row of 16, before the first one stops those from
// chunk 50 on and after.
WKVC_KERNEL(stopped, 1, 2, 1) {
  const auto look = [&](int row) {
    Tile<f32, 16, 16> seen = zeros<16, 16>();
    for (int n = 0; n < 16; ++n) {
      RowVec<16> at{};
      WKVC_EACH_SLOT(PerColumn, 16, at.v[i][s] = PerColumn::position<16>(i, s) == n && block.has_stopped(10 * n));
      seen = seen + at;
    }
    if (block.warp == 1) write(args.tensor[0], block, row, seen);
  };
  block.begin_rounds();
  block.barrier();
  look(0);
  block.barrier();
  block.stop_rounds(50);
  block.barrier();
  look(1);
}

// Warps 0 and 1 exchange a tile at a named barrier while warps 2 and 3 do the same at another.
WKVC_KERNEL(named, 2, 4, 1) {
  const auto mine = block.shared<f32, 16, 16>(block.warp * 4096);
  const auto other = block.shared<f32, 16, 16>((block.warp ^ 1) * 4096);
  Tile<f32, 16, 16> x;
  load_state(x, args.tensor[0], block, 16 * block.warp);
  store(mine, x);
  if (block.warp < 2) {
    block.barrier<1>(2);
  } else {
    block.barrier<2>(2);
  }
  store_outputs(args, block.warp, 16, output<f32>(OutputRows<f32>(args.tensor[1], block), 0, load(other)));
}

// Two teams of one warp in each block of a cluster hand chunks to the first warp of every block, by turns in two slots,
// and a weight of each chunk in the one slot of another channel: 1, or 2 of odd chunks. Tensors: x [T,16] f32 in chunks
// of 16 tokens, sums [16 for each block,16] of weighted chunks, which the second block doubles.
WKVC_KERNEL(handover, 2, 3, 1, 2) {
  using Slots = RoundSlots<2, 2048, 1024, 2, 2>;
  using WeightSlots = RoundSlots<2, 16, 1024, 1, 2, Slots::prepared(8), 1024 + 2048>;
  const Team<Slots, 1> teams(block);
  const Team<WeightSlots, 1> weight_teams(block);
  begin_slots<Slots>(block, 1);
  begin_slots<WeightSlots>(block, 1);
  const int chunks = static_cast<int>(args.tokens / 16);
  auto sum = zeros<16, 16>();
  for (int first = 0; first < chunks; first += Slots::kChunks) {
    const int last = first + Slots::kChunks < chunks ? first + Slots::kChunks : chunks;
    if (block.warp > 0) {
      const int c = first + teams.chunk;
      if (c >= last) continue;
      const auto team = teams.in_round(first);
      const auto weight_team = weight_teams.in_round(first);
      team.claim();
      weight_team.claim();
      Tile<f32, 16, 16> x;
      load_state(x, args.tensor[0], block, 16 * c);
      store(team.shared<f32, 16, 16>(Slots::kOfTeam), x);
      if (lanes::is_first()) *weight_team.floats(WeightSlots::kOffset) = static_cast<float>(c % 2 + 1);
      team.publish();
      weight_team.publish();
      continue;
    }
    for (int c = first; c < last; ++c) {
      const Slot<Slots> slot(block, c - first, first);
      const Slot<WeightSlots> weight_slot(block, c - first, first);
      slot.await();
      weight_slot.await();
      const float weight = *weight_slot.floats(WeightSlots::kOffset) * static_cast<float>(block.rank + 1);
      sum = sum + load(slot.shared<f32, 16, 16>(Slots::kOfTeam)) * weight;
      slot.release();
      weight_slot.release();
    }
  }
  if (block.warp == 0) store_outputs(args, block.rank, 16, output<f32>(OutputRows<f32>(args.tensor[1], block), 0, sum));
  block.cluster_barrier();
}

// The flags of a cluster, [16 for each block,16] of each head: none of the four warps raises those of the first head,
// one each those of the next four.
WKVC_KERNEL(flags, 1, 2, 1, 2) {
  block.lower_flag();
  block.cluster_barrier();
  if (block.head == 1 + 2 * block.rank + block.warp) block.raise_flags<2>();
  block.cluster_barrier();
  auto found = zeros<16, 16>() + (block.has_flag() ? 1.f : 0.f);
  if (block.warp == 1)
    store_outputs(args, block.rank, 16, output<f32>(OutputRows<f32>(args.tensor[0], block), 0, found));
}

// Warp 0 waits for the others, which have left.
WKVC_KERNEL(deadlock, 1, 4, 1) {
  if (block.warp == 0) block.barrier();
}

// Nobody arrives.
WKVC_KERNEL(forgotten_arrival, 1, 2, 1) {
  const auto ready = block.mbarrier(0);
  if (block.warp == 0) ready.init(1);
  block.barrier();
  ready.wait(0);
}
