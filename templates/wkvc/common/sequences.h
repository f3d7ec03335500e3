// The place of a block's sequence among tokens, of its state among slots, and of its head among shared ones.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

WKVC_INLINE long long given_start(const SequenceStarts& starts, long long n) {
  return starts.wide ? static_cast<const long long*>(starts.data)[n] : static_cast<const int*>(starts.data)[n];
}

// starts[n], brought to between `least` and `most`: no start leads out of the tensors.
WKVC_INLINE long long start_of_sequence(const SequenceStarts& starts, long long n, long long least, long long most) {
  const long long start = given_start(starts, n);
  return start < least ? least : start > most ? most : start;
}

// Returns whether this lane's share of the sequences before n has one in the slot of sequence n.
WKVC_INLINE bool lane_finds_earlier(const StateSlots& slots, long long n, int lane) {
  for (long long other = lane; other < n; other += 32) {
    if (slots.data[other] == slots.data[n]) return true;
  }
  return false;
}

// Reports what is wrong with the starts and the slot of this block's sequence. For one warp of one block of each.
template <int N>
WKVC_INLINE void report_sequence(const BlockBase& block, const KernelArgs<N>& args) {
  const int one_based = static_cast<int>(block.batch) + 1;
  if (args.starts.data != nullptr) {
    const bool moved = given_start(args.starts, block.batch) != block.first_token ||
                       given_start(args.starts, block.batch + 1) != block.first_token + block.tokens ||
                       (block.batch == 0 && block.first_token != 0);
    if (moved && lanes::is_first()) args.report->starts = one_based;
  }
  if (args.slots.data == nullptr || block.slot < 0) return;
  lanes::for_each([&](int lane) WKVC_INLINE_LAMBDA {
    if (block.slot >= args.slots.count || lane_finds_earlier(args.slots, block.batch, lane)) {
      args.report->slots = one_based;
    }
  });
}

// Fills in where the tokens, the state and the shared head of a block's sequence and head are.
template <int N>
WKVC_INLINE void find_sequence(BlockBase& block, const KernelArgs<N>& args) {
  block.slot = block.batch;
  block.shared_head = static_cast<u32>(block.head) / static_cast<u32>(args.group);
  block.token_batch = block.batch;
  block.first_token = 0;
  block.tokens = args.tokens;
  if (args.slots.data != nullptr) block.slot = args.slots.data[block.batch];
  if (args.starts.data != nullptr) {
    block.token_batch = 0;
    block.first_token = start_of_sequence(args.starts, block.batch, 0, args.tokens);
    const long long end = start_of_sequence(args.starts, block.batch + 1, block.first_token, args.tokens);
    block.tokens = end - block.first_token;
  }
  const bool reports = block.head == 0 && block.segment == 0 && block.rank == 0 && block.warp == 0;
  if (reports && args.report != nullptr) report_sequence(block, args);
}

// True for a sequence that has no slot for its state: nothing of the sequence is read or written.
template <int N>
WKVC_INLINE bool is_left_out(const KernelArgs<N>& args, const BlockBase& block) {
  return args.slots.data != nullptr && (block.slot < 0 || block.slot >= args.slots.count);
}

}  // namespace wkvc
