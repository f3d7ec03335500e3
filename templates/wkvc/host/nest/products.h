// Products of warp groups: here each warp's by itself, done when it is issued.
#pragma once

#include "wkvc/common/nest/swizzled.h"

namespace wkvc {

namespace products {

// Returns this warp's rows of x: a tile of registers has no others.
template <class T, int K>
const Tile<T, 16, K>& rows(const Role&, const Tile<T, 16, K>& x) {
  return x;
}
template <class T, int R, int C>
Tile<T, 16, C> rows(const Role& role, const Swizzled<T, R, C>& x) {
  return load(role, x);
}

}  // namespace products

template <int N, class X, class Y>
void issue_added(const Role& role, Tile<f32, 16, N>& sums, const X& x, const Y& y) {
  mma_nt(sums, products::rows(role, x), y);
}
template <int N, class X, class Y>
void issue(const Role& role, Tile<f32, 16, N>& sums, const X& x, const Y& y) {
  sums = zeros<16, N>();
  issue_added(role, sums, x, y);
}

template <class... Sums>
void await_products(Sums&...) {}

}  // namespace wkvc
