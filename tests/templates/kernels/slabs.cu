#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Writes 1 + x·yᵀ as the n-th result.
template <int M, int N, class X, class Y>
WKVC_INLINE void product(const TensorArg& out, const Block& block, int n, const X& x, const Y& y) {
  auto acc = zeros<M, N>() + 1.f;
  mma_nt(acc, x, y);
  write(out, block, n, acc);
}

// Tensors: p [C,V] and s [V,K] in f32, a [C,V] in T, results with p [C,V] as tokens x values, s as keys x values.
// One warp for 16 values makes its slabs of p and s; warp 0 contracts over the values.
template <class T, int C, int V, int K>
WKVC_INLINE void slabs(const KernelArgs<7>& args, const Block& block) {
  const auto a = fetch<T, C, V>(args.tensor[2], block);
  const auto p = block.column_slabs<T, C, V>(a.bytes, 0x1c000);
  const auto s = block.row_slabs<T, V, K>(a.bytes + p.view.bytes, 0x1c100);
  const auto raw_p = fetch<f32, C, V>(args.tensor[0], block, 0xc000);
  const auto raw_s = fetch<f32, V, K>(args.tensor[1], block, 0xc000 + raw_p.bytes);
  const int v = 16 * block.warp;
  store_transposed(p.template cols<16>(v), round_scaled<T>(load_transposed(raw_p.template cols<16>(v))));
  store(s.template rows<16>(v), round_scaled<T>(load(raw_s.template rows<16>(v))));
  block.barrier();
  if (block.warp != 0) return;
  const auto scaled_a = round_scaled<T>(widen(load(a)));
  const auto shared_a = block.scaled_shared<T, C, V>(0xc000, 0x1c200);
  store(shared_a, scaled_a);
  const TensorArg &pp = args.tensor[3], &pa = args.tensor[4], &sp = args.tensor[5], &sa = args.tensor[6];
  product<C, C>(pp, block, 0, p, p);
  product<C, C>(pa, block, 0, p, a);
  product<C, C>(pa, block, 1, p, load(a));
  product<C, C>(pa, block, 2, p, scaled_a);
  product<C, C>(pa, block, 3, p, shared_a);
  product<16, C>(pa, block, 4 * C / 16, p.template rows<16>(0), a);
  product<K, C>(sp, block, 0, trans(s), p);
  product<16, C>(sp, block, K / 16, trans(s.template cols<16>(K - 16)), p);
  product<K, C>(sa, block, 0, trans(s), a);
  auto transposed = zeros<C, K>() + 1.f;
  mma_nt(transposed, shared_a, trans(s));
  write(sa, block, 1, transpose(transposed));
}

#define CASE(T, C, V, K) \
  WKVC_KERNEL(slabs_##T##_##C##_##V##_##K, 7, (V) / 16, 1) { slabs<T, C, V, K>(args, block); }
CASE(f16, 16, 64, 64)
CASE(f16, 32, 32, 16)
CASE(bf16, 16, 32, 32)

// Tensors: x [16*parts, C] f32, one part a warp, and results: the sums of rows and the sums of columns of all parts.
template <int C, int PARTS>
WKVC_INLINE void partial_sums(const KernelArgs<2>& args, const Block& block) {
  Tile<f32, 16, C> x;
  load_state(x, args.tensor[0], block, 16 * block.warp);
  float *rows = block.floats(0), *columns = block.floats(PARTS * C * 4);
  store_row(rows + C * block.warp, sum_rows(x));
  store_column(columns + 16 * block.warp, sum_columns(x));
  block.barrier();
  if (block.warp != 0) return;
  write(args.tensor[1], block, 0, zeros<16, C>() + load_row_sum<C>(rows, PARTS, C));
  write(args.tensor[1], block, 1, zeros<16, C>() + load_column_sum<16>(columns, block.warps, 16));
}

WKVC_KERNEL(partial_sums_16_1, 2, 1, 1) { partial_sums<16, 1>(args, block); }
WKVC_KERNEL(partial_sums_64_3, 2, 3, 1) { partial_sums<64, 3>(args, block); }

// Tensors: x and y [V,K] in T, the products of their columns [16,K], with a scale that both tiles carry, and of all
// columns at once, which registers hold, the last with the sum of x's first 16 rows.
template <class T, int V, int K>
WKVC_INLINE void column_products(const KernelArgs<5>& args, const Block& block) {
  const auto x = fetch<T, V, K>(args.tensor[0], block), y = fetch<T, V, K>(args.tensor[1], block, x.bytes);
  for (int k = 0; k < K; k += 16) {
    const auto plain = column_dots(x.template cols<16>(k), y.template cols<16>(k));
    const auto dots = column_dots(scaled(x.template cols<16>(k), 4.f), scaled(y.template cols<16>(k), 0.5f));
    store_outputs(args, 0, 16,
                  output<f32>(OutputRows<f32>(args.tensor[2], block), k, zeros<16, 16>() + (plain + dots)));
  }
  const auto of_x = load_columns(trans(x)), of_y = load_columns(trans(y));
  write(args.tensor[3], block, 0, zeros<16, K>() + column_dots(of_x, of_y));
  const auto rows = widen(load(x.template rows<16>(0)));
  write(args.tensor[4], block, 0, zeros<16, K>() + column_dots(of_x, of_y, rows));
}

WKVC_KERNEL(column_products_f16, 5, 1, 1) { column_products<f16, 64, 32>(args, block); }
WKVC_KERNEL(column_products_bf16, 5, 1, 1) { column_products<bf16, 32, 48>(args, block); }
