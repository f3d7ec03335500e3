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
// calls this. Needs rows that are aligned to pieces.
template <class T, int R, int C, int LD>
WKVC_INLINE void copy_aligned(const Shared<T, R, C, LD>& to, const Source<T, R, C>& from, const BlockBase& block,
                              int valid) {
  for_each_own_piece<T, R, C>(
      block, [&](Piece piece) { copy::piece(to.at(piece.row, piece.column), from.at(piece), piece.row < valid); });
}

// Rows of a tile, pieces of a row, and u16s from one row to the next: in one register, for what a rare call needs takes
// registers from the others.
template <int Rows, int Across, int Ld>
inline constexpr u32 kPackedShape = static_cast<u32>(Rows) << 22 | static_cast<u32>(Across) << 12 | Ld;

// Without alignment there is no asynchronous copy. Out of line: it is rare, and would fill the chunk loop; and one
// function for tiles of all dtypes and shapes, which the compiler has to go through once. It copies u16s, the same
// pieces by the same threads as above: `from` is where this thread's first one is.
WKVC_OUTLINE void copy_slowly(const u16* from, int stride, u16* to, u32 shape, int valid, int warp, int warps) {
  const int rows = static_cast<int>(shape >> 22), across = static_cast<int>(shape >> 12 & 0x3ffu);
  const int ld = static_cast<int>(shape & 0xfffu), own = 32 * warp + lanes::own();
  lanes::for_each([&](int lane) {
    for (int piece = 32 * warp + lane; piece < rows * across; piece += 32 * warps) {
      const int row = piece / across, column = piece % across;
      const u16* const first =
          from + static_cast<long long>(row - own / across) * stride + (column - own % across) * kPiece<u16>;
      copy::piece_elementwise(to + row * ld + column * kPiece<u16>, row < valid ? first : nullptr);
    }
  });
}

template <class T, int R, int C, int LD>
WKVC_INLINE void copy_async(const Shared<T, R, C, LD>& to, const Source<T, R, C>& from, const BlockBase& block,
                            int valid, bool aligned) {
  if (aligned) {
    copy_aligned(to, from, block, valid);
  } else {
    constexpr int kHalves = static_cast<int>(sizeof(T) / sizeof(u16)), kAcross = Pieces<T, R, C>::kAcross;
    static_assert(R < 1 << 10 && kAcross < 1 << 10 && LD * kHalves < 1 << 12, "does not fit a packed shape");
    copy_slowly(reinterpret_cast<const u16*>(from.from()), from.stride() * kHalves, reinterpret_cast<u16*>(to.data),
                kPackedShape<R, kAcross, LD * kHalves>, valid, block.warp, block.warps);
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
