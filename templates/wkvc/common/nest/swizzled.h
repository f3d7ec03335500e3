// Tiles in shared memory whose rows have 128 bytes, or lie in panels of 128 bytes beside each other, with pieces of 16
// bytes exchanged by rows: the 128-byte swizzle of TMA and of wgmma's descriptors (PTX ISA, "Swizzling Modes").
#pragma once

#include "wkvc/common/block/ring_tile.h"
#include "wkvc/common/nest/role.h"

namespace wkvc {

// Columns of a panel.
template <class T>
inline constexpr int kPanel = 128 / static_cast<int>(sizeof(T));

template <class T, int R, int C>
struct Swizzled {
  static_assert(C % kPanel<T> == 0 && R % 8 == 0, "rows have whole panels, exchanged by eights");
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;
  static constexpr int bytes = R * C * static_cast<int>(sizeof(T));

  T* data;

  WKVC_INLINE T* at(int row, int column) const {
    return data + column / kPanel<T> * (R * kPanel<T>)+ExchangedRows<kPanel<T>>::place(row, column % kPanel<T>);
  }
  // The same, `column` behind a multiple of 16: pieces are exchanged by XOR, so that blocks beside each other share
  // what is computed of the row and of the column.
  WKVC_INLINE T* at(int row, int column, int column0) const {
    return data +
           column0 / kPanel<T> * (R * kPanel<T>)+(ExchangedRows<kPanel<T>>::place(row, column) ^ column0 % kPanel<T>);
  }
  // Whole panels.
  template <int N>
  WKVC_INLINE Swizzled<T, R, N> cols(int first) const {
    return {data + first * R};
  }
};

template <class T, int R, int C>
WKVC_INLINE auto pieces_of_block(const Swizzled<T, R, C>& x, int i, int j) {
  return [x, i, j](int row, int column) WKVC_INLINE_LAMBDA { return x.at(16 * i + row, 16 * j + column); };
}

// Where the pieces of the block lie that begins with this row and column.
template <class View>
WKVC_INLINE auto pieces_from(const View& x, int row0, int column0) {
  return [x, row0, column0](int row, int column) WKVC_INLINE_LAMBDA { return x.at(row0 + row, column0 + column); };
}

template <class T, int R, int C>
WKVC_INLINE auto pieces_from(const Swizzled<T, R, C>& x, int row0, int column0) {
  return [x, row0, column0](int row, int column) WKVC_INLINE_LAMBDA { return x.at(row0 + row, column, column0); };
}

// Returns this warp's 16 rows of a tile, or of the transposed tile.
template <class T, int R, int C>
WKVC_INLINE Tile<T, 16, C> load(const Role& role, const Swizzled<T, R, C>& x) {
  const int row0 = role.row0();
  Tile<T, 16, C> rows;
  WKVC_EACH_BLOCK(16, C, rows.block[0][j] = fragment::load_at<T>(pieces_from(x, row0, 16 * j)));
  return rows;
}
template <class T, int R, int C>
WKVC_INLINE Tile<T, 16, R> load(const Role& role, const Transposed<Swizzled<T, R, C>>& x) {
  const int column0 = role.row0(), row0 = made_again(0);
  Tile<T, 16, R> rows;
  WKVC_EACH_BLOCK(16, R,
                  rows.block[0][j] = fragment::load_transposed_at<T>(pieces_from(x.view, row0 + 16 * j, column0)));
  return rows;
}

template <class T, int R, int C>
WKVC_INLINE void store(const Role& role, const Swizzled<T, R, C>& to, const Tile<T, 16, C>& rows) {
  const int row0 = role.row0();
  WKVC_EACH_BLOCK(16, C, fragment::store_at<T>(pieces_from(to, row0, 16 * j), rows.block[0][j]));
}
template <class T, int R, int C>
WKVC_INLINE void store_transposed(const Role& role, const Swizzled<T, R, C>& to, const Tile<T, 16, R>& columns) {
  const int column0 = role.row0(), row0 = made_again(0);
  WKVC_EACH_BLOCK(16, R,
                  fragment::store_transposed_at<T>(pieces_from(to, row0 + 16 * j, column0), columns.block[0][j]));
}

// Takes 16 columns of what lies in registers, or of this warp's rows in shared memory.
struct ColumnBlock {
  int number;

  WKVC_INLINE int column0() const { return 16 * number; }
  template <class T, int C>
  WKVC_INLINE Tile<T, 16, 16> operator()(const Tile<T, 16, C>& x) const {
    return {{{x.block[0][number]}}};
  }
  template <class T, int R, int C>
  WKVC_INLINE Tile<T, 16, 16> load(const Role& role, const Swizzled<T, R, C>& x) const {
    return {{{fragment::load_at<T>(pieces_from(x, role.row0(), column0()))}}};
  }
};

// Stores the rows that `make` makes of 16 columns, one after the other, so that registers hold no more of them.
template <class T, int R, int C, class Make>
WKVC_INLINE void store_blocks(const Role& role, const Swizzled<T, R, C>& to, Make make) {
  const int row0 = role.row0();
  const auto one = [&](int n) WKVC_INLINE_LAMBDA {
    const Tile<T, 16, 16> made = make(ColumnBlock{n});
    fragment::store_at<T>(pieces_from(to, row0, 16 * n), made.block[0][0]);
  };
  WKVC_FOR(n, C / 16, one(n));
}

// The same of tiles that lie in pieces.
template <class T, int R, int C, int LD>
WKVC_INLINE void store(const Role& role, const Shared<T, R, C, LD>& to, const Tile<T, 16, C>& rows) {
  const int row0 = role.row0();
  WKVC_EACH_BLOCK(16, C, fragment::store_at<T>(pieces_from(to, row0, 16 * j), rows.block[0][j]));
}

}  // namespace wkvc
