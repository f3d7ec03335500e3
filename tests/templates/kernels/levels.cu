#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: x, y [R,C], pairs [R,R], results [.,C] and [.,R].
template <int Half, int R, int C>
WKVC_INLINE void level(const KernelArgs<5>& args, const Block& block, int number) {
  const auto x = read<f32, R, C>(args.tensor[0], block);
  const auto y = read<f32, R, C>(args.tensor[1], block, R * (C + 8) * 4);
  const auto pairs = read<f32, R, R>(args.tensor[2], block, 2 * R * (C + 8) * 4);
  write(args.tensor[3], block, 5 * number, last_of_other_half<Half>(x));
  write(args.tensor[3], block, 5 * number + 1, sum_of_other_half<Half>(x));
  write(args.tensor[3], block, 5 * number + 2, select_halves<Half>(x, y));
  write(args.tensor[3], block, 5 * number + 3, upper_rows<Half>(x));
  write(args.tensor[3], block, 5 * number + 4, lower_rows<Half>(x));
  write(args.tensor[4], block, number, level_pairs<Half>(pairs));
}

template <int R, int C>
WKVC_INLINE void levels(const KernelArgs<5>& args, const Block& block) {
  level<1, R, C>(args, block, 0);
  level<2, R, C>(args, block, 1);
  level<4, R, C>(args, block, 2);
  level<8, R, C>(args, block, 3);
  if constexpr (R > 16) level<16, R, C>(args, block, 4);
  if constexpr (R > 32) level<32, R, C>(args, block, 5);
}

#define CASE(R, C) \
  WKVC_KERNEL(levels_##R##_##C, 5, 1, 1) { levels<R, C>(args, block); }
CASE(16, 16)
CASE(32, 48)
CASE(48, 16)
CASE(64, 16)
