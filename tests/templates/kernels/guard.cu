// What a kernel without scales refuses. Tensors: x [B,T,H,C], its gradient d, whether a block has refused, the unit of
// gradients, what comes out of x as 2^100·x², and a state [B,H,16,C] of warps that have 16 columns each. The blocks of
// a cluster have a part of the columns each.
#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

template <int Warps, int Cluster, class T>
WKVC_INLINE bool refuses(const Guard<T>& guard, const Block& block, const Tile<f32, 16, 16>& state) {
  if constexpr (Cluster == 1) {
    return guard.template refuses_state<Warps>(state);
  } else {
    guard.template tell_cluster<Cluster>(state);
    block.cluster_barrier();
    return guard.refuses_with_cluster();
  }
}

#define GUARD(T, C) GUARD_OF(guard_##T##_##C, T, C, (C) / 16, 1)
#define GUARD_OF(name, T, C, kWarps, kCluster)                                                     \
  WKVC_KERNEL(name, 6, kWarps, 1, kCluster) {                                                      \
    const TensorArg& x_global = args.tensor[0];                                                    \
    const OutputRows<T> rows(args.tensor[4], block);                                               \
    const int column = 16 * ((kWarps) * block.rank + block.warp);                                  \
    Guard<T> guard(args.tensor[2], block);                                                         \
    guard.expect(largest_of_sample<T, C>(x_global, block, 0, args.tokens));                        \
    const float unit = guard.unit(largest_of_sample<T, C>(args.tensor[1], block, 0, args.tokens)); \
    if (guard.refuses_samples()) return;                                                           \
    const bool is_first = block.rank == 0 && block.warp == 0 && lanes::is_first();                 \
    if (is_first) *global_row<f32>(args.tensor[3], block, 0) = unit;                               \
    if constexpr ((kCluster) > 1) {                                                                \
      block.lower_flag();                                                                          \
      block.cluster_barrier();                                                                     \
    }                                                                                              \
    const Ring<T, 16, C, 1> ring{block.memory};                                                    \
    Copies<T, 16, C, 1, 1> copies;                                                                 \
    copies.template take<0>(args, block, copied(0, x_global, ring));                               \
    for (int c = 0; c < chunk_count<16>(args.tokens); ++c) {                                       \
      const int valid = valid_rows<16>(args.tokens, c);                                            \
      copies.copy(args, block, c);                                                                 \
      commit_copies();                                                                             \
      wait_copies<0>();                                                                            \
      block.barrier();                                                                             \
      const auto x = widen(load(ring[c].template cols<16>(column)));                               \
      block.barrier();                                                                             \
      store_outputs(guard, args, c, valid, output<T>(rows, column, x * x * 0x1p100f));             \
    }                                                                                              \
    Tile<f32, 16, 16> state;                                                                       \
    load_state(state, args.tensor[5], block, 0, column);                                           \
    if (refuses<kWarps, kCluster>(guard, block, state)) return;                                    \
  }
GUARD(bf16, 64)
GUARD(f32, 32)
GUARD(bf16, 16)
GUARD_OF(guard_of_cluster, bf16, 64, 2, 2)
