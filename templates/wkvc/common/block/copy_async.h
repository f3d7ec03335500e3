// Rows of tokens from global to shared memory, in pieces of 16 bytes dealt to the lanes of one warp.
#pragma once

#include "wkvc/common/block/block_base.h"

namespace wkvc {

// The place of a piece's first element in its tile.
struct Piece {
  int row;
  int column;
};

// The pieces of an R x C tile are dealt round to the lanes, in order.
template <class T, int R, int C>
struct Pieces {
  static constexpr int kAcross = C / kPiece<T>;
  static constexpr int kCount = R * kAcross;
  static constexpr int kRounds = (kCount + 31) / 32;

  static WKVC_INLINE bool exists(int lane, int round) { return kCount % 32 == 0 || 32 * round + lane < kCount; }
  static WKVC_INLINE Piece at(int lane, int round) {
    // Whole rows a round: the column stays.
    if (32 % kAcross == 0) return {lane / kAcross + round * (32 / kAcross), lane % kAcross * kPiece<T>};
    const int p = 32 * round + lane;
    return {p / kAcross, p % kAcross * kPiece<T>};
  }
};

// Calls f with the lane and the round of every piece of a tile.
template <class T, int R, int C, class F>
WKVC_INLINE void for_each_place(F f) {
  using All = Pieces<T, R, C>;
  lanes::for_each([&](int lane) {
    WKVC_UNROLL
    for (int round = 0; round < All::kRounds; ++round) {
      if (All::exists(lane, round)) f(lane, round);
    }
  });
}
// Calls f with every piece.
template <class T, int R, int C, class F>
WKVC_INLINE void for_each_piece(F f) {
  for_each_place<T, R, C>([&](int lane, int round) { f(Pieces<T, R, C>::at(lane, round)); });
}

// Where this lane's pieces of an R x C tile lie in a tensor: the address of its first one, from which the others follow
// with few instructions each, as long as the compiler doesn't look into the bytes from one row to the next.
template <class T, int R, int C>
class Source {
 public:
  Source() = default;
  // The tile begins at token `row` of this block's sequence and head.
  WKVC_INLINE Source(const TensorArg& t, const BlockBase& block, long long row)
      : row_bytes_(memory::kept(static_cast<int>(static_cast<u32>(row_stride(t)) * kSize))),
        from_(memory::kept_apart(token_row<const T>(t, block, row) + first().row * row_stride(t) + first().column)) {}

  WKVC_INLINE const T* from() const { return from_; }
  WKVC_INLINE int stride() const { return row_bytes_ / kSize; }
  WKVC_INLINE const T* at(Piece piece) const {
    return memory::behind(from_, piece.row - first().row, row_bytes_) + (piece.column - first().column);
  }
  // The same tile, so many tiles further down.
  WKVC_INLINE Source tile(int n) const {
    if constexpr (R * kSize <= 64) {  // so that the bytes of a tile's rows fit, however far these are apart
      return Source(row_bytes_, memory::behind(from_, n, R * row_bytes_));
    } else {
      return Source(row_bytes_, from_ + static_cast<long long>(n) * (R * stride()));
    }
  }

 private:
  static constexpr int kSize = static_cast<int>(sizeof(T));

  WKVC_INLINE Source(int row_bytes, const T* from) : row_bytes_(row_bytes), from_(from) {}
  static WKVC_INLINE Piece first() { return Pieces<T, R, C>::at(lanes::own(), 0); }

  int row_bytes_ = 0;
  const T* from_ = nullptr;
};

// The places of this lane's pieces in tiles of one kind, and which pieces are of the first `valid` rows. A warp finds
// them once for all tensors that it copies.
template <class Tile>
class PiecePlaces {
 public:
  WKVC_INLINE PiecePlaces(const Tile& tile, int valid) : tile_(tile), valid_(valid) {
    WKVC_FOR(n, All::kRounds, own_[n] = memory::kept(offset_of(All::at(lanes::own(), n))),
             there_[n] = is_there(lanes::own(), n));
  }

  WKVC_INLINE int offset(int lane, int round) const {
    return lane == lanes::own() ? own_[round] : offset_of(All::at(lane, round));
  }
  WKVC_INLINE bool exists(int lane, int round) const {
    return lane == lanes::own() ? there_[round] : is_there(lane, round);
  }

 private:
  using All = Pieces<typename Tile::Element, Tile::kRows, Tile::kColumns>;

  WKVC_INLINE int offset_of(Piece piece) const {
    return static_cast<int>(tile_.at(piece.row, piece.column) - tile_.data);
  }
  WKVC_INLINE bool is_there(int lane, int round) const { return All::at(lane, round).row < valid_; }

  Tile tile_;
  int valid_;
  int own_[All::kRounds];
  bool there_[All::kRounds];
};

// Starts copying. Rows that are not there become zero and their global memory is not touched. Needs rows that are
// aligned to pieces.
template <class Tile, class T, int R, int C>
WKVC_INLINE void copy_aligned(const Tile& to, const Source<T, R, C>& from, const PiecePlaces<Tile>& places) {
  for_each_place<T, R, C>([&](int lane, int round) {
    const T* const at = from.at(Pieces<T, R, C>::at(lane, round));
    copy::piece(to.data + places.offset(lane, round), at, places.exists(lane, round));
  });
}

// Rows of a tile, pieces of a row, and u16s from one row to the next: in one register, for what a rare call needs takes
// registers from the others.
template <int Rows, int Across, int Ld>
inline constexpr u32 kPackedShape = static_cast<u32>(Rows) << 22 | static_cast<u32>(Across) << 12 | Ld;

// Without alignment there is no asynchronous copy. Out of line: it is rare, and would fill the chunk loop; and one
// function for tiles of all dtypes and shapes, which the compiler has to go through once. It copies u16s, the same
// pieces by the same lanes as above: `from` is where this lane's first one is.
WKVC_OUTLINE void copy_slowly(const u16* from, int stride, u16* to, u32 shape, int valid) {
  const int rows = static_cast<int>(shape >> 22), across = static_cast<int>(shape >> 12 & 0x3ffu);
  const int ld = static_cast<int>(shape & 0xfffu), own = lanes::own();
  lanes::for_each([&](int lane) {
    for (int piece = lane; piece < rows * across; piece += 32) {
      const int row = piece / across, column = piece % across;
      const u16* const first =
          from + static_cast<long long>(row - own / across) * stride + (column - own % across) * kPiece<u16>;
      // Rows that are not padded have their pieces exchanged.
      const int place = ld == across * kPiece<u16> ? exchanged_piece(row, column, across) : column;
      copy::piece_elementwise(to + row * ld + place * kPiece<u16>, row < valid ? first : nullptr);
    }
  });
}

template <class Tile, class T, int R, int C>
WKVC_INLINE void copy_async(const Tile& to, const Source<T, R, C>& from, int valid, const PiecePlaces<Tile>& places,
                            bool aligned) {
  if (aligned) {
    copy_aligned(to, from, places);
  } else {
    constexpr int kHalves = static_cast<int>(sizeof(T) / sizeof(u16)), kAcross = Pieces<T, R, C>::kAcross;
    constexpr int LD = Tile::kLength;
    static_assert(R < 1 << 10 && kAcross < 1 << 10 && LD * kHalves < 1 << 12, "does not fit a packed shape");
    copy_slowly(reinterpret_cast<const u16*>(from.from()), from.stride() * kHalves, reinterpret_cast<u16*>(to.data),
                kPackedShape<R, kAcross, LD * kHalves>, valid);
  }
}

// Largest finite |x| of rows in shared memory. Out of line, as few tiles hold what is not finite.
template <class T>
WKVC_OUTLINE float largest_finite(const T* data, int rows, int columns, int length) {
  float largest = 0.f;
  lanes::for_each([&](int lane) {
    for (int i = lane; i < rows * columns; i += 32)
      largest = scalar::max(largest, scalar::finite_abs(scalar::widen(data[i / columns * length + i % columns])));
  });
  return lanes::max_non_negative(largest);
}

// Largest finite |x| of a tile that this warp copied: readable after wait_copies, without a barrier. In whatever order
// the pieces of a row are: where they are exchanged, a lane reads others' copies.
template <class Tile>
WKVC_INLINE float copied_max(const Tile& x) {
  using T = typename Tile::Element;
  if (Tile::kLength == Tile::kColumns) lanes::sync();
  copy::Largest<T> of_pieces;
  for_each_piece<T, Tile::kRows, Tile::kColumns>(
      [&](Piece piece) { of_pieces.add(x.data + piece.row * Tile::kLength + piece.column); });
  const float largest = lanes::max_non_negative(of_pieces.value());
  if (scalar::finite_abs(largest) == largest) return largest;
  lanes::sync();  // another lane's copies
  return largest_finite<T>(x.data, Tile::kRows, Tile::kColumns, Tile::kLength);
}

}  // namespace wkvc
