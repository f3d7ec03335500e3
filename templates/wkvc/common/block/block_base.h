// The part of a block's identity that both targets share: which warp, which batch and head, and shared memory.
#pragma once

#include "wkvc/abi.h"
#include "wkvc/common/block/head_parts.h"
#include "wkvc/common/block/ring_tile.h"
#include "wkvc/common/tile/slabs.h"

namespace wkvc {

// A warp's 16 rows of a state on their way to its registers, in shared memory.
template <class T, int K>
struct StagedState {
  T* rows;
};

// On a GPU kernels for batches that are sequences, have states in this order and heads of their own have no code for
// anything else, which takes registers: WKVC_SEQUENCES is for launches with starts of sequences, slots of states or
// shared heads.
#if defined(WKVC_SEQUENCES) || !(defined(__CUDACC__) || defined(__CUDACC_RTC__))
inline constexpr bool kMapsSequences = true;
#else
inline constexpr bool kMapsSequences = false;
#endif

struct BlockBase {
  int warp;               // of this thread
  int warps;              // in the block
  long long batch;        // of states: the sequence
  long long slot;         // of states in slots
  long long head;         // as KernelArgs::heads counts heads
  long long shared_head;  // of tensors with kShared
  long long token_batch;  // of tensors of tokens
  long long first_token;  // of the sequence, in that batch
  long long tokens;       // of the sequence
  int segment;            // of the sequence, 0 …
  int segments;           // that the sequence is cut into, one block each
  long long piece;        // KernelArgs::piece
  int rank;               // in the cluster of blocks that share a head, or a segment of it, 0 …
  char* memory;           // shared memory; offsets into it are bytes

  template <class T, int R, int C>
  WKVC_INLINE Shared<T, R, C> shared(int offset) const {
    return {reinterpret_cast<T*>(memory + offset)};
  }
  template <class T, int R, int C>
  WKVC_INLINE Padded<T, R, C> padded(int offset) const {
    return {reinterpret_cast<T*>(memory + offset)};
  }
  template <class T, int R, int C>
  WKVC_INLINE Exchanged<T, R, C> exchanged(int offset) const {
    return {reinterpret_cast<T*>(memory + offset)};
  }
  template <class T, int R, int C>
  WKVC_INLINE ScaledShared<T, R, C> scaled_shared(int offset, int scale_offset) const {
    return {shared<T, R, C>(offset), floats(scale_offset)};
  }
  template <class T, int R, int C>
  WKVC_INLINE ColumnSlabs<T, R, C> column_slabs(int offset, int scales_offset) const {
    return {shared<T, R, C>(offset), floats(scales_offset)};
  }
  template <class T, int R, int C>
  WKVC_INLINE RowSlabs<T, R, C> row_slabs(int offset, int scales_offset) const {
    return {shared<T, R, C>(offset), floats(scales_offset)};
  }
  template <class T, int K>
  WKVC_INLINE StagedState<T, K> staged(int offset, int row0) const {
    return {reinterpret_cast<T*>(memory + offset) + row0 * K};
  }
  WKVC_INLINE float* floats(int offset) const { return reinterpret_cast<float*>(memory + offset); }
};

// With WKVC_ALIGNED a kernel is for launches alone whose tensors [B,T,H,D] have rows that may be moved in pieces of 16
// bytes, and has no code for others: a seventh of its instructions, and of the time that they take to compile.
#ifdef WKVC_ALIGNED
inline constexpr bool kOnlyAligned = true;
#else
inline constexpr bool kOnlyAligned = false;
#endif

// Whether the rows of all these tensors may be.
template <int N>
WKVC_INLINE bool is_aligned(const KernelArgs<N>& args) {
  return kOnlyAligned || args.vector16 != 0;
}

// True for a state whose rows may be moved in such pieces.
WKVC_INLINE bool is_aligned(const TensorArg& t) {
  return kMapsSequences || kTellsHeads ? (t.flags & kVector16) != 0 : t.flags != 0;
}

WKVC_INLINE int row_stride(const TensorArg& t) { return static_cast<int>(t.row); }

// The factor of a tensor's `batch` stride for this block.
WKVC_INLINE long long batch_of(const TensorArg& t, const BlockBase& block) {
  if constexpr (kMapsSequences) {
    if (const long long tokens = t.flags / kSavedEvery) return block.first_token / tokens + block.batch;
    if ((t.flags & kInSlots) != 0) return block.slot;
  }
  return block.batch;
}

// First element of row `row` of this block's batch and head.
template <class T>
WKVC_INLINE T* global_row(const TensorArg& t, const BlockBase& block, long long row) {
  return static_cast<T*>(t.data) + batch_of(t, block) * t.batch + head_offset(t, block.head) + row * row_stride(t);
}
// Tokens of this block's sequence. Where that is known to every block, no register holds the number.
template <int N>
WKVC_INLINE long long tokens_of(const KernelArgs<N>& args, const BlockBase& block) {
  return kMapsSequences ? block.tokens : args.tokens;
}

// First element of token `token` of this block's sequence and head.
template <class T>
WKVC_INLINE T* token_row(const TensorArg& t, const BlockBase& block, long long token) {
  if constexpr (!kMapsSequences) return global_row<T>(t, block, token);
  const long long head = (t.flags & kShared) != 0 ? block.shared_head : block.head;
  return static_cast<T*>(t.data) + block.token_batch * t.batch + head_offset(t, head) +
         (block.first_token + token) * row_stride(t);
}

}  // namespace wkvc
