// Rows of tokens from global to shared memory, in pieces of 16 bytes dealt to the threads of the block.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

template <class T>
inline constexpr int kPiece = 16 / static_cast<int>(sizeof(T));

// The place of a piece's first element in its tile.
struct Piece {
  int row;
  int column;
};

// The pieces of an R x C tile are dealt round to all threads, in order. block.warps is known where a kernel is
// compiled, so loops over rounds unroll.
template <class T, int R, int C>
struct Pieces {
  static constexpr int kAcross = C / kPiece<T>;
  static constexpr int kCount = R * kAcross;

  static WKVC_INLINE int step(const BlockBase& block) { return 32 * block.warps; }
  static WKVC_INLINE int rounds(const BlockBase& block) { return (kCount + step(block) - 1) / step(block); }

  static WKVC_INLINE bool exists(const BlockBase& block, int lane, int round) {
    return kCount % step(block) == 0 || step(block) * round + 32 * block.warp + lane < kCount;
  }
  static WKVC_INLINE Piece at(const BlockBase& block, int lane, int round) {
    const int first = 32 * block.warp + lane;
    // Whole rows a round: the column stays.
    if (step(block) % kAcross == 0)
      return {first / kAcross + round * (step(block) / kAcross), first % kAcross * kPiece<T>};
    const int p = step(block) * round + first;
    return {p / kAcross, p % kAcross * kPiece<T>};
  }
};

// Calls f with every piece that this warp copies.
template <class T, int R, int C, class F>
WKVC_INLINE void for_each_own_piece(const BlockBase& block, F f) {
  using All = Pieces<T, R, C>;
  lanes::for_each([&](int lane) {
    WKVC_UNROLL
    for (int round = 0; round < All::rounds(block); ++round) {
      if (All::exists(block, lane, round)) f(All::at(block, lane, round));
    }
  });
}

// Where this thread's pieces of an R x C tile lie in a tensor: the address of its first one, from which the others
// follow with few instructions.
template <class T, int R, int C>
class Source {
 public:
  // The tile begins at row `row` of this block's batch and head.
  WKVC_INLINE Source(const TensorArg& t, const BlockBase& block, long long row)
      : first_(Pieces<T, R, C>::at(block, lanes::own(), 0)),
        stride_(row_stride(t)),
        from_(global_row<const T>(t, block, row) + first_.row * stride_ + first_.column) {}

  // As `from()` and `stride()` of another one say.
  WKVC_INLINE Source(const T* from, int stride, const BlockBase& block)
      : first_(Pieces<T, R, C>::at(block, lanes::own(), 0)), stride_(stride), from_(from) {}

  WKVC_INLINE const T* from() const { return from_; }
  WKVC_INLINE int stride() const { return stride_; }
  WKVC_INLINE const T* at(Piece piece) const {
    return from_ + (piece.row - first_.row) * stride_ + (piece.column - first_.column);
  }
  WKVC_INLINE void advance(int rows) { from_ += rows * stride_; }

 private:
  Piece first_;
  int stride_;
  const T* from_;
};

// Starts copying. Rows from `valid` on become zero and their global memory is not touched. Every warp of the block
// calls this.
template <class T, int R, int C, int LD>
WKVC_INLINE void copy_aligned(const Shared<T, R, C, LD>& to, const Source<T, R, C>& from, const BlockBase& block,
                              int valid) {
  for_each_own_piece<T, R, C>(
      block, [&](Piece piece) { copy::piece(to.at(piece.row, piece.column), from.at(piece), piece.row < valid); });
}

// Without alignment there is no asynchronous copy. Out of line: it is rare, and would fill the chunk loop. Takes plain
// values, for what a call has the address of does not stay in registers.
template <class T, int R, int C>
WKVC_OUTLINE void copy_elementwise(T* to, int ld, const T* first, int stride, int valid, int warp, int warps) {
  BlockBase block{};
  block.warp = warp;
  block.warps = warps;
  const Source<T, R, C> from(first, stride, block);
  for_each_own_piece<T, R, C>(block, [&](Piece piece) {
    copy::piece_elementwise(to + piece.row * ld + piece.column, piece.row < valid ? from.at(piece) : nullptr);
  });
}

template <class T, int R, int C, int LD>
WKVC_INLINE void copy_async(const Shared<T, R, C, LD>& to, const Source<T, R, C>& from, const BlockBase& block,
                            int valid, bool aligned) {
  if (aligned) {
    copy_aligned(to, from, block, valid);
  } else {
    copy_elementwise<T, R, C>(to.data, LD, from.from(), from.stride(), valid, block.warp, block.warps);
  }
}

// Largest |x| among the elements that this warp copied: readable after wait_copies, without a barrier.
template <class T, int R, int C, int LD>
WKVC_INLINE float copied_max(const Shared<T, R, C, LD>& x, const BlockBase& block) {
  copy::Largest<T> largest;
  for_each_own_piece<T, R, C>(block, [&](Piece piece) { largest.add(x.at(piece.row, piece.column)); });
  return lanes::max_non_negative(largest.value());
}

}  // namespace wkvc
