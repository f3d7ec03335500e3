#include "wkvc/tile.h"

using namespace wkvc;

// Tensors: states of 32 values and 48 keys in T, in either order, and twice as much.
template <class T, StateLayout Order>
WKVC_INLINE void stored_states(const KernelArgs<2>& args, const Block& block) {
  Tile<f32, 16, 48> state;
  load_state<T, Order>(state, args.tensor[0], block, 16 * block.warp);
  store_state<T, Order>(state + state, args.tensor[1], block, 16 * block.warp);
}

#define STATES(T, ORDER) \
  WKVC_KERNEL(stored_states_##T##_##ORDER, 2, 2, 1) { stored_states<T, StateLayout::ORDER>(args, block); }
STATES(f32, vk)
STATES(f32, kv)
STATES(f16, vk)
STATES(f16, kv)
STATES(bf16, vk)
STATES(bf16, kv)

// Tensors: x [B,T,H,N] in T, and x + 2x + 4x + 8x through vectors that lanes share out or not, and pairs or not.
template <class T, int N>
WKVC_INLINE void fetched(const KernelArgs<2>& args, const Block& block) {
  using Row = Fetched<T, RowVec<N>>;
  using Own = Fetched<T, Vector<PerLane, N>>;
  TokenInput<T, RowVec<N>> rows(args.tensor[0], block, args.tokens > 0);
  TokenInput<T, Vector<PerLane, N>, false> own_rows(args.tensor[0], block, args.tokens > 0);
  TokenOutput<f32> to(args.tensor[1], block);
  for (long long token = 0; token < args.tokens; ++token) {
    const T* from = token_row<const T>(args.tensor[0], block, token);
    Row neighbours;
    Own own_neighbours;
    neighbours.template load<true>(from + Row::first());
    own_neighbours.template load<true>(from + Own::first());
    const bool more = token + 1 < args.tokens;
    const auto everywhere_else = rows.take(more);
    const auto own = own_rows.take(more);
    to.put(widen(neighbours) + everywhere_else * 2.f + everywhere(own * 4.f + widen(own_neighbours) * 8.f));
  }
}

#define FETCHED(T, N) \
  WKVC_KERNEL(fetched_##T##_##N, 2, 1, 1) { fetched<T, N>(args, block); }
FETCHED(f32, 64)
FETCHED(f16, 16)
FETCHED(f16, 128)
FETCHED(bf16, 48)
FETCHED(bf16, 80)

// Tensors: x [B,T,H,32] in T, twice as much through columns of 16 rows.
template <class T>
WKVC_INLINE void fetched_column(const KernelArgs<2>& args, const Block& block) {
  const int row0 = 16 * block.warp;
  TokenInput<T, ColVec<16>> rows(args.tensor[0], block, args.tokens > 0, row0);
  TokenOutput<T> to(args.tensor[1], block, row0);
  for (long long token = 0; token < args.tokens; ++token) {
    const auto x = rows.take(token + 1 < args.tokens);
    to.put(x + x);
  }
}

WKVC_KERNEL(fetched_column_f32, 2, 2, 1) { fetched_column<f32>(args, block); }
WKVC_KERNEL(fetched_column_bf16, 2, 2, 1) { fetched_column<bf16>(args, block); }

// Tensors: parts [B,T,H,80] f32 and the sum over each group of heads in T, which is left in the group's first head; and
// the same of numbers [B,T,H].
template <class T>
WKVC_INLINE void head_sums(const KernelArgs<4>& args, const Block& block) {
  sum_heads<T, 80>(args, args.tensor[1], args.tensor[0], block);
  sum_head_numbers<T>(args, args.tensor[3], args.tensor[2], block);
}

WKVC_KERNEL(head_sums_f32, 4, 2, 1) { head_sums<f32>(args, block); }
WKVC_KERNEL(head_sums_bf16, 4, 2, 1) { head_sums<bf16>(args, block); }
