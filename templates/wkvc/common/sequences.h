// Where a block's sequence lies among tokens and saved states.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

// On a GPU kernels for batches that are sequences have no code for maps, which takes registers: WKVC_SEQUENCES is for
// launches with a map.
#if defined(WKVC_SEQUENCES) || !(defined(__CUDACC__) || defined(__CUDACC_RTC__))
inline constexpr bool kMapsSequences = true;
#else
inline constexpr bool kMapsSequences = false;
#endif

// starts[n], brought to between `least` and `most`: no start leads out of the tensors.
WKVC_INLINE long long start_of_sequence(const SequenceStarts& starts, long long n, long long least, long long most) {
  const long long start =
      starts.wide ? static_cast<const long long*>(starts.data)[n] : static_cast<const int*>(starts.data)[n];
  return start < least ? least : start > most ? most : start;
}

// Fills in where the tokens of sequence block.batch are.
template <int N>
WKVC_INLINE void find_sequence(BlockBase& block, const KernelArgs<N>& args) {
  block.token_batch = block.batch;
  block.first_token = 0;
  block.tokens = args.tokens;
  if constexpr (kMapsSequences) {
    if (args.starts.data == nullptr) return;
    block.token_batch = 0;
    block.first_token = start_of_sequence(args.starts, block.batch, 0, args.tokens);
    const long long end = start_of_sequence(args.starts, block.batch + 1, block.first_token, args.tokens);
    block.tokens = end - block.first_token;
  }
}

// The first of this sequence's states among those of its batch that are saved every `Tokens` tokens: 0, or with a map
// ⌊starts[n] / Tokens⌋ + n, which lies behind all states of the sequences before.
template <int Tokens>
WKVC_INLINE long long first_saved(const BlockBase& block) {
  return kMapsSequences ? block.batch - block.token_batch + block.first_token / Tokens : 0;
}

}  // namespace wkvc
