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

// The same through the tiles of single tokens.
template <class T, StateLayout Order, int K>
WKVC_INLINE void token_states(const KernelArgs<2>& args, const Block& block) {
  TokenState<K> state;
  load_state<T, Order>(state, args.tensor[0], block, 16 * block.warp);
  store_state<T, Order>(state + state, args.tensor[1], block, 16 * block.warp);
}

#define TOKEN_STATES(T, ORDER, K) \
  WKVC_KERNEL(token_states_##T##_##ORDER##_##K, 2, 2, 1) { token_states<T, StateLayout::ORDER, K>(args, block); }
#define TOKEN_STATES_OF(T, ORDER) \
  TOKEN_STATES(T, ORDER, 16)      \
  TOKEN_STATES(T, ORDER, 48)      \
  TOKEN_STATES(T, ORDER, 96)      \
  TOKEN_STATES(T, ORDER, 128)
TOKEN_STATES_OF(f32, vk)
TOKEN_STATES_OF(f32, kv)
TOKEN_STATES_OF(f16, vk)
TOKEN_STATES_OF(f16, kv)
TOKEN_STATES_OF(bf16, vk)
TOKEN_STATES_OF(bf16, kv)

// Tensors: states S [B,H,32,K], v [B,T,H,32], k [B,T,H,K], all f32; of each token S·k [B,T,H,32] and k·k [B,T,H]; and
// S + the sum of v·kᵀ.
template <int K>
WKVC_INLINE void token_products(const KernelArgs<6>& args, const Block& block) {
  const int row0 = 16 * block.warp;
  TokenState<K> state, sum;
  load_state(state, args.tensor[0], block, row0);
  sum = state;
  TokenInput<f32, ValueVec> v_rows(args.tensor[1], block, args.tokens > 0, row0);
  TokenInput<f32, KeyVec<K>> k_rows(args.tensor[2], block, args.tokens > 0);
  TokenOutput<f32> products(args.tensor[3], block, row0), squares(args.tensor[4], block);
  for (long long token = 0; token < args.tokens; ++token) {
    const bool more = token + 1 < args.tokens;
    const auto v = v_rows.take(more);
    const auto k = k_rows.take(more);
    products.put(dot(state, k));
    squares.put(dot(k, k), block.warp == 0);
    sum = sum + outer(v, k);
  }
  store_state(sum, args.tensor[5], block, row0);
}

WKVC_KERNEL(token_products_16, 6, 2, 1) { token_products<16>(args, block); }
WKVC_KERNEL(token_products_64, 6, 2, 1) { token_products<64>(args, block); }
WKVC_KERNEL(token_products_96, 6, 2, 1) { token_products<96>(args, block); }

// Tensors: x [B,T,H,N] in T, and x + 2x + 4x through vectors that are loaded ahead, when they are due, and in runs.
template <class T, int N>
WKVC_INLINE void fetched(const KernelArgs<2>& args, const Block& block) {
  using Row = Fetched<T, KeyVec<N>>;
  TokenInput<T, KeyVec<N>> ahead(args.tensor[0], block, args.tokens > 0);
  TokenInput<T, KeyVec<N>, false> when_due(args.tensor[0], block, args.tokens > 0);
  TokenOutput<f32> to(args.tensor[1], block);
  for (long long token = 0; token < args.tokens; ++token) {
    Row in_runs;
    in_runs.template load<true>(token_row<const T>(args.tensor[0], block, token) + Row::first());
    const bool more = token + 1 < args.tokens;
    const auto x = ahead.take(more);
    to.put(x + when_due.take(more) * 2.f + widen(in_runs) * 4.f);
  }
}

#define FETCHED(T, N) \
  WKVC_KERNEL(fetched_##T##_##N, 2, 1, 1) { fetched<T, N>(args, block); }
FETCHED(f32, 64)
FETCHED(f16, 16)
FETCHED(f16, 128)
FETCHED(bf16, 48)
FETCHED(bf16, 80)

// Tensors: x [B,T,H,32] in T, twice as much through vectors over 16 rows.
template <class T>
WKVC_INLINE void fetched_column(const KernelArgs<2>& args, const Block& block) {
  const int row0 = 16 * block.warp;
  TokenInput<T, ValueVec> rows(args.tensor[0], block, args.tokens > 0, row0);
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
