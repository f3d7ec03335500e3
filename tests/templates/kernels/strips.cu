#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Results of one kernel, one after the other, through shared memory.
template <int R, int C>
struct Results {
  const TensorArg& out;
  const Block& block;
  int count = 0;

  template <class X>
  WKVC_INLINE void add(const X& x) {
    const auto shared = block.shared<f32, R, C>(2 * R * (C + 8) * 4);
    store(shared, x);
    write(out, block, count++, load(shared));
  }
};

template <int Half, int R, int C, class X>
WKVC_INLINE void level(Results<R, C>& results, const X& x, const X& y) {
  results.add(last_of_other_half<Half>(x));
  results.add(select_halves<Half>(x, y));
  results.add(upper_rows<Half>(x));
  results.add(lower_rows<Half>(x));
}

// Tensors: x and y [R,C] in T, results, and one number a token, in T.
template <class T, int R, int C>
WKVC_INLINE void strips(const KernelArgs<4>& args, const Block& block) {
  const auto x = widen(load_strip(fetch<T, R, C>(args.tensor[0], block)));
  const auto y = widen(load_strip(fetch<T, R, C>(args.tensor[1], block, R * (C + 8) * 4)));
  float* const vector = block.floats(3 * R * (C + 8) * 4);
  const auto nothing = x - x;
  Results<R, C> results{args.tensor[2], block};
  results.add(x);
  results.add(cumsum(x));
  results.add(exclusive_cumsum(x));
  results.add(reverse_cumsum(x));
  results.add(reverse_exclusive_cumsum(x));
  results.add(nothing + row<0>(x));
  results.add(nothing + row<R / 2 - 1>(x));
  results.add(nothing + row<R - 1>(x));
  results.add(y * row<1>(x) - y);
  results.add(nothing + sum_columns(x));
  results.add(x * load_tokens_strip<T, R, C>(args.tensor[3], block, 0, R - 3));
  results.add(keep_rows(x, R / 2 + 1));
  results.add(shift_rows(x, row<R - 1>(y)));
  results.add(widen_over(round<T>(x), 4.f));
  store_row(vector, row<1>(x));
  write(args.tensor[2], block, results.count++, zeros<R, C>() + load_row<C>(vector));
  store_column(vector, sum_columns(x));
  write(args.tensor[2], block, results.count++, zeros<R, C>() + load_column<R>(vector));
  level<1>(results, x, y);
  level<2>(results, x, y);
  level<4>(results, x, y);
  level<8>(results, x, y);
}

#define CASE(T, R, C) \
  WKVC_KERNEL(strips_##T##_##R##_##C, 4, 1, 1) { strips<T, R, C>(args, block); }
CASE(bf16, 16, 32)
CASE(bf16, 16, 64)
CASE(f16, 16, 128)
CASE(f32, 16, 64)
CASE(bf16, 32, 32)
CASE(f16, 64, 64)

// Tensors: x [R,C], and x from blocks to strips and back, all through shared memory.
template <int R, int C>
WKVC_INLINE void terms(const KernelArgs<2>& args, const Block& block) {
  const auto from = fetch<bf16x3, R, C>(args.tensor[0], block);
  const auto to = block.shared<bf16x3, R, C>(from.bytes);
  store(to, round<bf16x3>(widen(load_strip(from))));
  write(args.tensor[1], block, 0, widen(load(to)));
}
WKVC_KERNEL(strips_bf16x3_16_64, 2, 1, 1) { terms<16, 64>(args, block); }
WKVC_KERNEL(strips_bf16x3_32_32, 2, 1, 1) { terms<32, 32>(args, block); }
