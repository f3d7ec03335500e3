// The place of a block's sequence among tokens, and of its state among slots.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

// starts[n], brought to between `least` and `most`: no start leads out of the tensors.
WKVC_INLINE long long start_of_sequence(const SequenceStarts& starts, long long n, long long least, long long most) {
  const long long start =
      starts.wide ? static_cast<const long long*>(starts.data)[n] : static_cast<const int*>(starts.data)[n];
  return start < least ? least : start > most ? most : start;
}

// Fills in where the tokens and the state of sequence block.batch are.
template <int N>
WKVC_INLINE void find_sequence(BlockBase& block, const KernelArgs<N>& args) {
  block.slot = block.batch;
  block.token_batch = block.batch;
  block.first_token = 0;
  block.tokens = args.tokens;
  if (args.slots.data != nullptr) block.slot = args.slots.data[block.batch];
  if (args.starts.data == nullptr) return;
  block.token_batch = 0;
  block.first_token = start_of_sequence(args.starts, block.batch, 0, args.tokens);
  const long long end = start_of_sequence(args.starts, block.batch + 1, block.first_token, args.tokens);
  block.tokens = end - block.first_token;
}

// True for a sequence that has no slot for its state: nothing of the sequence is read or written.
template <int N>
WKVC_INLINE bool is_left_out(const KernelArgs<N>& args, const BlockBase& block) {
  return args.slots.data != nullptr && (block.slot < 0 || block.slot >= args.slots.count);
}

}  // namespace wkvc
