#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: x [R,C], results.
template <int R, int C>
WKVC_INLINE void rows(const KernelArgs<2>& args, const Block& block) {
  const auto x = read<f32, R, C>(args.tensor[0], block);
  const TensorArg& out = args.tensor[1];
  const auto z = zeros<R, C>();
  write(out, block, 0, cumsum(x));
  write(out, block, 1, reverse_cumsum(x));
  write(out, block, 2, z + row<0>(x));
  write(out, block, 3, z + row<R / 2 - 1>(x));
  write(out, block, 4, z + row<R - 1>(x));
  write(out, block, 5, z + sum_rows(x));
  write(out, block, 6, z + sum_columns(x));
  write(out, block, 7, tril(x));
  write(out, block, 8, tril_strict(x));
  write(out, block, 9, diagonal(x));
  write(out, block, 10, transpose(transpose(x)));
  float* vector = block.floats(R * (C + 8) * 4);
  store_row(vector, row<1>(x));
  write(out, block, 11, z + load_row<C>(vector));
  store_column(vector, sum_columns(x));
  write(out, block, 12, z + load_column<R>(vector));
  write(out, block, 13, at_row<0, R>(row<1>(x)));
  write(out, block, 14, at_row<R / 2 - 1, R>(row<1>(x)));
  write(out, block, 15, at_row<R - 1, R>(row<1>(x)));
  store_number(vector, row<R / 2 - 1>(sum_columns(x)));
  write(out, block, 16, z + load_number(vector));
  write(out, block, 17, z + row<R - 1>(sum_columns(x)));
}

#define CASE(R, C) \
  WKVC_KERNEL(rows_##R##_##C, 2, 1, 1) { rows<R, C>(args, block); }
CASE(16, 16)
CASE(16, 64)
CASE(32, 64)
CASE(64, 48)

#define DIAGONAL(C)                                                       \
  WKVC_KERNEL(diagonal_column_##C, 2, 1, 1) {                             \
    const auto x = read<f32, C, C>(args.tensor[0], block);                \
    write(args.tensor[1], block, 0, zeros<C, 16>() + diagonal_column(x)); \
  }
DIAGONAL(16)
DIAGONAL(48)

// x has NaN in the rows, or columns, that are dropped; `tokens` of them are kept.
WKVC_KERNEL(keep_rows_32_16, 2, 1, 1) {
  const auto x = read<f32, 32, 16>(args.tensor[0], block);
  write(args.tensor[1], block, 0, keep_rows(x, static_cast<int>(args.tokens)));
}
WKVC_KERNEL(keep_columns_16_32, 2, 1, 1) {
  const auto x = read<f32, 16, 32>(args.tensor[0], block);
  write(args.tensor[1], block, 0, keep_columns(x, static_cast<int>(args.tokens)));
}

// Running sums of one number for each row, and for each column, with it and without it.
template <int N>
WKVC_INLINE void vectors(const KernelArgs<2>& args, const Block& block) {
  const auto x = read<f32, N, 16>(args.tensor[0], block);
  const auto column = sum_columns(x);
  const auto row = diagonal_row(zeros<N, N>() + column);
  const auto z = zeros<N, 16>();
  const auto across = [&](const auto& y) { return z + sum_columns(diagonal(zeros<N, N>() + y)); };
  const TensorArg& out = args.tensor[1];
  write(out, block, 0, z + cumsum(column));
  write(out, block, 1, z + reverse_cumsum(column));
  write(out, block, 2, z + exclusive_cumsum(column));
  write(out, block, 3, z + reverse_exclusive_cumsum(column));
  write(out, block, 4, across(cumsum(row)));
  write(out, block, 5, across(reverse_cumsum(row)));
  write(out, block, 6, across(exclusive_cumsum(row)));
  write(out, block, 7, across(reverse_exclusive_cumsum(row)));
  write(out, block, 8, exclusive_cumsum(x));
  write(out, block, 9, reverse_exclusive_cumsum(x));
  write(out, block, 10, z + keep_rows(column, N - 5));
  write(out, block, 11, across(keep_columns(row, N - 5)));
}
WKVC_KERNEL(vectors_16, 2, 1, 1) { vectors<16>(args, block); }
WKVC_KERNEL(vectors_48, 2, 1, 1) { vectors<48>(args, block); }
