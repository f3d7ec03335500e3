#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

constexpr int kRows = 32;

// Tensors: a matrix [C,C], of which the lower triangle counts, x [32,C], and results: x times the triangle's transpose
// and x times the triangle, and both transposed. The matrix is an operand of T, x of X; those of 16 bits have
// scales.
template <class T, class X, int C>
WKVC_INLINE void products(const KernelArgs<4>& args, const Block& block) {
  const auto in_f32 = tril(read<f32, C, C>(args.tensor[0], block));
  const auto x_in_f32 = read<f32, kRows, C>(args.tensor[1], block, block.shared<f32, C, C>(0).bytes);
  block.barrier();
  const auto memory = block.shared<T, C, C>(0);
  const auto operand = []<class O>(O, const auto& tile, [[maybe_unused]] float scale) WKVC_INLINE_LAMBDA {
    if constexpr (is_same<O, f32>)
      return tile;
    else
      return round_scaled<O>(tile, scale);
  };
  const auto tile = operand(T{}, in_f32, 0.5f);
  const auto x = operand(X{}, x_in_f32, 4.f);
  store(memory, unscaled(tile));
  block.barrier();
  const auto triangle = [&]() WKVC_INLINE_LAMBDA {
    if constexpr (is_same<T, f32>)
      return memory;
    else
      return scaled(memory, 0.5f);
  }();
  auto by_lower = zeros<kRows, C>() + 1.f, by_upper = by_lower;
  mma_nt(by_lower, x, lower(triangle));
  mma_nt(by_upper, x, upper(trans(triangle)));
  write(args.tensor[2], block, 0, by_lower);
  write(args.tensor[2], block, 1, by_upper);
  auto lower_by = zeros<C, kRows>() + 1.f, upper_by = lower_by;
  mma_nt(lower_by, lower(tile), x);
  mma_nt(upper_by, upper(trans(triangle)), x);
  write(args.tensor[3], block, 0, lower_by);
  write(args.tensor[3], block, 1, upper_by);
}

WKVC_KERNEL(triangular_f32_16, 4, 1, 1) { products<f32, f32, 16>(args, block); }
WKVC_KERNEL(triangular_f32_48, 4, 1, 1) { products<f32, f32, 48>(args, block); }
WKVC_KERNEL(triangular_f16_16, 4, 1, 1) { products<f16, f16, 16>(args, block); }
WKVC_KERNEL(triangular_bf16_48, 4, 1, 1) { products<bf16, bf16, 48>(args, block); }
WKVC_KERNEL(triangular_tf32_48, 4, 1, 1) { products<tf32, tf32, 48>(args, block); }
WKVC_KERNEL(triangular_bf16x3_16, 4, 1, 1) { products<bf16x3, bf16x3, 16>(args, block); }
WKVC_KERNEL(triangular_bf16x3_48, 4, 1, 1) { products<bf16x3, bf16x3, 48>(args, block); }
WKVC_KERNEL(triangular_f16x2_48, 4, 1, 1) { products<f16x2, f16, 48>(args, block); }
WKVC_KERNEL(triangular_lower_f16x2_16, 4, 1, 1) { products<lower_f16x2, f16, 16>(args, block); }
WKVC_KERNEL(triangular_lower_f16x2_48, 4, 1, 1) { products<lower_f16x2, f16, 48>(args, block); }

// Tensors: a lower triangular matrix L [C,C], x [32,C] in f16, results: x·Lᵀ and x·L, L·xᵀ and Lᵀ·xᵀ, L in f32 from
// registers and from a copy in shared memory, and what is kept of L.
template <int C>
WKVC_INLINE void folded(const KernelArgs<6>& args, const Block& block) {
  const auto x = read<f16, kRows, C>(args.tensor[1], block);
  const auto in_f32 = read<f32, C, C>(args.tensor[0], block, block.shared<f16, kRows, C>(0).bytes);
  block.barrier();
  const auto matrix = block.shared<lower_f16x2, C, C>(0);
  const auto copy = block.shared<lower_f16x2, C, C>(matrix.bytes);
  const auto tile = round<lower_f16x2>(in_f32);
  store(matrix, tile);
  store(copy, load(matrix));
  block.barrier();
  auto by_lower = zeros<kRows, C>(), by_upper = by_lower;
  mma_nt(by_lower, x, copy);
  mma_nt(by_upper, x, trans(copy));
  write(args.tensor[2], block, 0, by_lower);
  write(args.tensor[2], block, 1, by_upper);
  auto lower_by = zeros<C, kRows>(), upper_by = lower_by, in_registers = lower_by;
  mma_nt(lower_by, copy, x);
  mma_nt(upper_by, trans(copy), x);
  mma_nt(in_registers, tile, x);
  write(args.tensor[3], block, 0, lower_by);
  write(args.tensor[3], block, 1, upper_by);
  write(args.tensor[3], block, 2, in_registers);
  write(args.tensor[4], block, 0, widen(tile));
  write(args.tensor[4], block, 1, widen(load(copy)));
  store_outputs(args, 0, C, output(OutputRows<f16>(args.tensor[5], block), 0, tile));
}
WKVC_KERNEL(folded_16, 6, 1, 1) { folded<16>(args, block); }
WKVC_KERNEL(folded_48, 6, 1, 1) { folded<48>(args, block); }
