// Strips of an R x C tile: each lane has 4 neighbouring columns of R·C/128 neighbouring rows, its element n (8 a block,
// as they lie in a tile) being row n/4 of these and column n%4. The lanes that share rows are a group. C is a power of
// two from 16 to 128.
#pragma once

#include "wkvc/common/tile/levels.h"
#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

namespace strip {

inline constexpr int kWidth = 4;
template <int C>
inline constexpr int kLanes = C / kWidth;  // of a group
template <int C>
inline constexpr int kGroups = 32 / kLanes<C>;
template <int R, int C>
inline constexpr int kRows = R / kGroups<C>;  // of a lane

template <int C>
WKVC_INLINE int own_group() {
  return ptx::lane() / kLanes<C>;
}
template <int C>
WKVC_INLINE int first_column() {
  return ptx::lane() % kLanes<C> * kWidth;
}
template <int R, int C>
WKVC_INLINE int first_row() {
  return own_group<C>() * kRows<R, C>;
}
template <int C>
WKVC_INLINE constexpr int element_number(int i, int j, int e) {
  return layout::kElements * (i * (C / 16) + j) + e;
}

// Row `row` and column `column` of those that the lane has.
template <int R, int C, class X>
WKVC_INLINE auto& element_of(X& x, int row, int column) {
  const int n = kWidth * row + column, block = n / layout::kElements;
  return x.block[block / (C / 16)][block % (C / 16)].unit[n % layout::kElements];
}

// What the lane of the same columns in another group has.
template <int C>
WKVC_INLINE float from_group(float x, int group) {
  return ptx::shuffle(x, group * kLanes<C> + ptx::lane() % kLanes<C>);
}

struct Columns {
  template <int C>
  static constexpr int kBlocks = 1;
  static constexpr int kSlots = kWidth;
  template <int C>
  static WKVC_INLINE int position(int /*i*/, int slot) {
    return first_column<C>() + slot;
  }
};
template <int C>
struct Rows {
  template <int R>
  static constexpr int kBlocks = kRows<R, C>;
  static constexpr int kSlots = 1;
  template <int R>
  static WKVC_INLINE int position(int i, int /*slot*/) {
    return first_row<R, C>() + i;
  }
};

}  // namespace strip

struct Strips {
  using Columns = strip::Columns;
  template <int C>
  using Rows = strip::Rows<C>;

  template <int R, int C>
  static WKVC_INLINE int row_at(int i, int j, int e) {
    return strip::first_row<R, C>() + strip::element_number<C>(i, j, e) / strip::kWidth;
  }
  template <int R, int C>
  static WKVC_INLINE int column_at(int /*i*/, int /*j*/, int e) {
    return strip::first_column<C>() + e % strip::kWidth;
  }
  template <int C, class Vector>
  static WKVC_INLINE float beside_row(const Vector& row, int /*i*/, int /*j*/, int e) {
    return row.v[0][e % strip::kWidth];
  }
  template <int C, class Vector>
  static WKVC_INLINE float beside_column(const Vector& column, int i, int j, int e) {
    return column.v[strip::element_number<C>(i, j, e) / strip::kWidth][0];
  }
};

//===- To and from shared memory ---------------------------------------------------------------------------------===//

namespace strip {

// Four elements of a row, in two registers or in four.
template <class T>
WKVC_INLINE void load_row(const T* from, float* units) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  units[0] = x.x, units[1] = x.y, units[2] = x.z, units[3] = x.w;
}
template <class T>
WKVC_INLINE void load_row(const T* from, u32* units) {
  const uint2 x = *reinterpret_cast<const uint2*>(from);
  units[0] = x.x, units[1] = x.y;
}
// Returns where the high terms of this lane's four columns begin. Neighbouring lanes have the halves of 8 columns,
// whose high terms lie first.
template <class T>
WKVC_INLINE T* own_terms(T* row) {
  return row - ptx::lane() % 2 * 2;
}
template <TwoTerms T>
WKVC_INLINE void load_row(const T* from, TermPair* units) {
  const uint2 high = *reinterpret_cast<const uint2*>(own_terms(from));
  const uint2 low = *reinterpret_cast<const uint2*>(own_terms(from) + 4);
  units[0] = {high.x, low.x}, units[1] = {high.y, low.y};
}
template <TwoTerms T>
WKVC_INLINE void store_row(T* to, const TermPair* units) {
  *reinterpret_cast<uint2*>(own_terms(to)) = make_uint2(units[0].high, units[1].high);
  *reinterpret_cast<uint2*>(own_terms(to) + 4) = make_uint2(units[0].low, units[1].low);
}
template <class T>
WKVC_INLINE void store_row(T* to, const float* units) {
  *reinterpret_cast<float4*>(to) = make_float4(units[0], units[1], units[2], units[3]);
}
template <class T>
WKVC_INLINE void store_row(T* to, const u32* units) {
  *reinterpret_cast<uint2*>(to) = make_uint2(units[0], units[1]);
}

// The first register of a lane's row.
template <class T, int R, int C, class X>
WKVC_INLINE auto* row_units(X& x, int row) {
  const int n = kWidth * row, block = n / layout::kElements;
  return x.block[block / (C / 16)][block % (C / 16)].unit + n % layout::kElements / Unit<T>::elements;
}

}  // namespace strip

template <class View>
WKVC_INLINE auto load_strip(const View& x) {
  using T = typename View::Element;
  constexpr int R = View::kRows, C = View::kColumns;
  Tile<T, R, C, Strips> y;
  const int row = strip::first_row<R, C>(), column = strip::first_column<C>();
  WKVC_FOR(n, (strip::kRows<R, C>), strip::load_row(x.at(row + n, column), strip::row_units<T, R, C>(y, n)));
  return y;
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store(const Shared<T, R, C, LD>& to, const Tile<T, R, C, Strips>& x) {
  static_assert(16 % strip::kRows<R, C> == 0 || strip::kRows<R, C> % 16 == 0,
                "a lane begins in a piece that it leaves");
  const Shared<T, R, C, LD> own{to.at(strip::first_row<R, C>(), strip::first_column<C>())};
  lanes::sync();
  WKVC_FOR(n, (strip::kRows<R, C>), strip::store_row(own.at(n, 0), strip::row_units<T, R, C>(x, n)));
  lanes::sync();
}
template <int C>
WKVC_INLINE void store_row(float* to, const Vector<strip::Columns, C>& x) {
  lanes::sync();
  if (strip::own_group<C>() == 0) strip::store_row(to + strip::first_column<C>(), x.v[0]);
  lanes::sync();
}

//===- Rows and columns ------------------------------------------------------------------------------------------===//

namespace strip {

// From the lane so many before this one, or behind it.
template <bool FromLast>
WKVC_INLINE float shuffle_along(float x, int lanes) {
  return FromLast ? ptx::shuffle_down(x, lanes) : ptx::shuffle_up(x, lanes);
}

// The sum over the groups before the lane's, or behind it.
template <bool FromLast, int C>
WKVC_INLINE float sum_before(float x) {
  const int before = FromLast ? kGroups<C> - 1 - own_group<C>() : own_group<C>();
  const auto from_before = [](float sum, int groups)
                               WKVC_INLINE_LAMBDA { return shuffle_along<FromLast>(sum, groups * kLanes<C>); };
  x = from_before(x, 1);
  if (before == 0) x = 0.f;
  WKVC_UNROLL
  for (int step = 1; step < kGroups<C> - 1; step *= 2) {
    const float y = from_before(x, step);
    if (before >= step) x += y;
  }
  return x;
}

// Adds `x` to the sum and returns the sum, with x or without it.
template <bool Exclusive>
WKVC_INLINE float add_to(float& sum, float x) {
  const float before = sum;
  sum += x;
  return Exclusive ? before : sum;
}

template <bool FromLast, bool Exclusive, int R, int C>
WKVC_INLINE void scan_column(Tile<f32, R, C, Strips>& x, int column) {
  const auto element = [&x, column](int n) WKVC_INLINE_LAMBDA -> float& {
    return element_of<R, C>(x, FromLast ? kRows<R, C> - 1 - n : n, column);
  };
  float sum = 0.f;
  if (kGroups<C> > 1) {
    WKVC_FOR(n, (kRows<R, C>), sum += element(n));
    sum = sum_before<FromLast, C>(sum);
  }
  WKVC_FOR(n, (kRows<R, C>), element(n) = add_to<Exclusive>(sum, element(n)));
}

// The sum over a group.
template <int C>
WKVC_INLINE float sum_group(float x) {
  WKVC_UNROLL
  for (int mask = 1; mask < kLanes<C>; mask *= 2) x += ptx::shuffle_xor(x, mask);
  return x;
}

}  // namespace strip

template <bool FromLast, bool Exclusive, int R, int C>
WKVC_INLINE Tile<f32, R, C, Strips> scan(Tile<f32, R, C, Strips> x) {
  WKVC_FOR(n, strip::kWidth, strip::scan_column<FromLast, Exclusive>(x, n));
  return x;
}

template <int I, int R, int C>
WKVC_INLINE RowOf<Strips, C> row(const Tile<f32, R, C, Strips>& x) {
  constexpr int kRow = I % strip::kRows<R, C>, kGroup = I / strip::kRows<R, C>;
  RowOf<Strips, C> y;
  WKVC_FOR(n, strip::kWidth, y.v[0][n] = strip::from_group<C>(strip::element_of<R, C>(x, kRow, n), kGroup));
  return y;
}

namespace strip {

template <int R, int C>
WKVC_INLINE void shift_column(Tile<f32, R, C, Strips>& y, const Tile<f32, R, C, Strips>& x, float first, int column) {
  const float last = ptx::shuffle_up(element_of<R, C>(x, kRows<R, C> - 1, column), kLanes<C>);
  element_of<R, C>(y, 0, column) = own_group<C>() == 0 ? first : last;
  WKVC_FOR(n, (kRows<R, C> - 1), element_of<R, C>(y, n + 1, column) = element_of<R, C>(x, n, column));
}

}  // namespace strip

// Every row of x one further down; `first` comes before them.
template <int R, int C>
WKVC_INLINE Tile<f32, R, C, Strips> shift_rows(const Tile<f32, R, C, Strips>& x, const RowOf<Strips, C>& first) {
  Tile<f32, R, C, Strips> y;
  WKVC_FOR(n, strip::kWidth, strip::shift_column(y, x, first.v[0][n], n));
  return y;
}

template <int R, int C>
WKVC_INLINE ColumnOf<Strips, R, C> sum_columns(const Tile<f32, R, C, Strips>& x) {
  ColumnOf<Strips, R, C> y{};
  WKVC_EACH_ELEMENT(R, C, y.v[strip::element_number<C>(i, j, e) / strip::kWidth][0] += x.block[i][j].unit[e]);
  WKVC_FOR(n, (strip::kRows<R, C>), y.v[n][0] = strip::sum_group<C>(y.v[n][0]));
  return y;
}

//===- Levels ----------------------------------------------------------------------------------------------------===//

namespace strip {

// One of the lane's columns of last_of_other_half. Other halves end with a row of the lane's own, or all of its rows
// meet the same one, the last of another lane's.
template <int Half, int R, int C>
WKVC_INLINE void last_column(Tile<f32, R, C, Strips>& z, const Tile<f32, R, C, Strips>& x, int column) {
  constexpr int kOwnRows = kRows<R, C>;
  static_assert((kOwnRows & (kOwnRows - 1)) == 0, "blocks of rows are to begin with a lane's");
  constexpr bool kOwn = Half < kOwnRows;
  float far = 0.f;
  if (!kOwn) {
    const int row = other_half<Half>(first_row<R, C>()) + Half - 1;
    far = from_group<C>(element_of<R, C>(x, kOwnRows - 1, column), row / kOwnRows);
  }
  const auto last_of_other = [&](int n) WKVC_INLINE_LAMBDA {
    return kOwn ? element_of<R, C>(x, (other_half<Half>(n) + Half - 1) % kOwnRows, column) : far;
  };
  WKVC_FOR(n, kOwnRows, element_of<R, C>(z, n, column) = last_of_other(n));
}

}  // namespace strip

template <int Half, int R, int C>
WKVC_INLINE Tile<f32, R, C, Strips> last_of_other_half(const Tile<f32, R, C, Strips>& x) {
  Tile<f32, R, C, Strips> z;
  WKVC_FOR(n, strip::kWidth, strip::last_column<Half>(z, x, n));
  return z;
}

}  // namespace wkvc
