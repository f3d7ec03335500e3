// The place of a block's sequence among tokens, of its state among slots, and of its head among shared ones.
#pragma once

#include "wkvc/common/block/block_base.h"

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

// Tokens of a sequence.
struct TokenSpan {
  long long first, count;
};

template <int N>
WKVC_INLINE TokenSpan tokens_of_sequence(const KernelArgs<N>& args, long long n) {
  if (args.starts.data == nullptr) return {0, args.tokens};
  const long long first = start_of_sequence(args.starts, n, 0, args.tokens);
  return {first, start_of_sequence(args.starts, n + 1, first, args.tokens) - first};
}

template <int N>
WKVC_INLINE long long slot_of_sequence(const KernelArgs<N>& args, long long n) {
  return args.slots.data != nullptr ? args.slots.data[n] : n;
}

// Reports what is wrong with the starts and the slot of sequence n. For one warp.
template <int N>
WKVC_INLINE void report_sequence(const KernelArgs<N>& args, long long n) {
  const int one_based = static_cast<int>(n) + 1;
  if (args.starts.data != nullptr) {
    const TokenSpan span = tokens_of_sequence(args, n);
    const bool moved = given_start(args.starts, n) != span.first ||
                       given_start(args.starts, n + 1) != span.first + span.count || (n == 0 && span.first != 0);
    if (moved && lanes::is_first()) memory::report(args.report->starts, one_based);
  }
  const long long slot = slot_of_sequence(args, n);
  if (args.slots.data == nullptr || slot < 0) return;
  lanes::for_each([&](int lane) WKVC_INLINE_LAMBDA {
    if (slot >= args.slots.count || lane_finds_earlier(args.slots, n, lane))
      memory::report(args.report->slots, one_based);
  });
}

// The number of the first piece of sequence n, where sequences are cut into pieces.
template <int N>
WKVC_INLINE long long first_piece(const KernelArgs<N>& args, long long n) {
  return start_of_sequence(args.starts, n, 0, args.tokens) / args.piece + n;
}

// The last sequence whose pieces begin at `piece` or before.
template <int N>
WKVC_INLINE long long sequence_of_piece(const KernelArgs<N>& args, long long piece) {
  long long first = 0, end = args.batches;
  while (end - first > 1) {
    const long long middle = first + (end - first) / 2;
    (first_piece(args, middle) <= piece ? first : end) = middle;
  }
  return first;
}

// Pieces that so many tokens of a sequence make; one of none.
template <int N>
WKVC_INLINE int piece_count(const KernelArgs<N>& args, long long tokens) {
  return tokens > 0 ? static_cast<int>((tokens - 1) / args.piece) + 1 : 1;
}

// Fills in where the tokens, the state and the shared head of a block's sequence and head are.
template <int N>
WKVC_INLINE void find_sequence(BlockBase& block, const KernelArgs<N>& args) {
  const bool in_pieces = args.piece > 0 && args.segments > 1;
  const long long own = in_pieces ? block.segment : block.batch;  // there is a block for each number of a sequence
  const bool reports = block.head == 0 && block.rank == 0 && block.warp == 0 && (in_pieces || block.segment == 0);
  if (reports && args.report != nullptr && own < args.batches) report_sequence(args, own);
  if (in_pieces) block.batch = sequence_of_piece(args, own);
  const TokenSpan span = tokens_of_sequence(args, block.batch);
  block.slot = slot_of_sequence(args, block.batch);
  block.shared_head = shared_head_of(static_cast<u32>(block.head), static_cast<u32>(args.group));
  block.token_batch = args.starts.data != nullptr ? 0 : block.batch;
  block.first_token = span.first;
  block.tokens = span.count;
  block.piece = args.piece;
  if (!in_pieces) return;
  block.segment = static_cast<int>(own - first_piece(args, block.batch));
  block.segments = piece_count(args, span.count);
}

// True for a sequence that has no slot for its state, of which nothing is read or written, and where a sequence has no
// such piece.
template <int N>
WKVC_INLINE bool is_left_out(const KernelArgs<N>& args, const BlockBase& block) {
  return (args.slots.data != nullptr && (block.slot < 0 || block.slot >= args.slots.count)) ||
         block.segment >= block.segments;
}

}  // namespace wkvc
