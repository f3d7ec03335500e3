// The gradient of a head that several heads, or several blocks of a head, share: the sum of what each of them gives,
// always in the same order.
#pragma once

#include "wkvc/common/global/global.h"

namespace wkvc {

// Calls take(chunk, valid) for chunks of 16 tokens, which the blocks of a group's heads deal round among their warps.
template <int N, class Take>
WKVC_INLINE void for_own_chunks(const KernelArgs<N>& args, const BlockBase& block, u32 group, const Take& take) {
  const int place = static_cast<int>(static_cast<u32>(block.head) % group);
  const int first = (place * block.segments + block.segment) * block.warps + block.warp;
  const int step = static_cast<int>(group) * block.segments * block.warps;
  const long long tokens = tokens_of(args, block);
  for (long long chunk = first; 16 * chunk < tokens; chunk += step) {
    const long long left = tokens - 16 * chunk;
    take(static_cast<int>(chunk), left < 16 ? static_cast<int>(left) : 16);
  }
}

// Calls add with the place of each head of this block's group, in order.
template <class Add>
WKVC_INLINE void for_heads_of_group(const BlockBase& block, u32 group, const Add& add) {
  BlockBase of_head = block;
  of_head.head = block.head - static_cast<u32>(block.head) % group;
  for (u32 n = 0; n < group; ++n, ++of_head.head) add(of_head);
}

// x += the first `valid` rows from token0 on of this head of a tensor [B,T,H,D], whose rows begin at multiples of 16
// bytes.
template <int C>
WKVC_INLINE void add_rows(Tile<f32, 16, C>& x, const TensorArg& t, const BlockBase& block, long long token0, int col0,
                          int valid) {
  const f32* from = token_row<const f32>(t, block, token0) + col0;
  Tile<f32, 16, C> rows{};
  const auto load = [&](int s) WKVC_INLINE_LAMBDA {
    const int row = PerRow::position<16>(0, s);
    if (row < valid) load_row_slot(rows, from + row * row_stride(t), 0, s, true);
  };
  WKVC_FOR(s, PerRow::kSlots, load(s));
  x = x + rows;
}

// Columns col0 … of all tokens: sums the parts `from`, a tensor [B,T,H,D] of f32, over the heads of this block's group,
// and rounds the sums to T.
template <class T, int C, int N>
WKVC_INLINE void sum_head_columns(const KernelArgs<N>& args, const TensorArg& to, const TensorArg& from,
                                  const BlockBase& block, int col0) {
  const OutputRows<T> rows(to, block);
  const u32 group = group_of(args, to);
  for_own_chunks(args, block, group, [&](int chunk, int valid) WKVC_INLINE_LAMBDA {
    auto sum = zeros<16, C>();
    for_heads_of_group(block, group, [&](const BlockBase& of_head) WKVC_INLINE_LAMBDA {
      add_rows(sum, from, of_head, 16LL * chunk, col0, valid);
    });
    store_output(output<T>(rows, col0, sum), chunk, valid, is_aligned(args));
  });
}

// The same for all columns.
template <class T, int D, int N>
WKVC_INLINE void sum_heads(const KernelArgs<N>& args, const TensorArg& to, const TensorArg& from,
                           const BlockBase& block) {
  constexpr int kColumns = D % 64 == 0 ? 64 : 16;
  for (int col0 = 0; col0 < D; col0 += kColumns) sum_head_columns<T, kColumns>(args, to, from, block, col0);
}

// The same for a tensor [B,T,H].
template <class T, int N>
WKVC_INLINE void sum_head_numbers(const KernelArgs<N>& args, const TensorArg& to, const TensorArg& from,
                                  const BlockBase& block) {
  const u32 group = group_of(args, to);
  for_own_chunks(args, block, group, [&](int chunk, int valid) WKVC_INLINE_LAMBDA {
    ColVec<16> sum{};
    for_heads_of_group(block, group, [&](const BlockBase& of_head) WKVC_INLINE_LAMBDA {
      sum = sum + load_tokens_column<f32, 16>(from, of_head, 16LL * chunk, valid);
    });
    store_tokens<T>(to, block, 16LL * chunk, valid, sum);
  });
}

}  // namespace wkvc
