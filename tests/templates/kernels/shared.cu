#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Tensors: x [R,C] in T, results [.,C], transposed results [.,R].
template <class T, int R, int C>
WKVC_INLINE void shared_tiles(const KernelArgs<3>& args, const Block& block) {
  const auto x = fetch<T, R, C>(args.tensor[0], block);
  const auto y = block.shared<T, R, C>(x.bytes);
  const auto z = block.shared<T, C, R>(2 * x.bytes);
  const TensorArg &out = args.tensor[1], &out_t = args.tensor[2];
  write(out, block, 0, widen(load(x)));
  write(out_t, block, 0, widen(load_transposed(x)));
  write(out_t, block, 1, widen(transpose(load(x))));
  store(y, load(x));
  write(out, block, 1, widen(load(y)));
  store_transposed(y, load_transposed(x));
  write(out, block, 2, widen(load(y)));
  store_transposed(z, load(x));
  write(out_t, block, 2, widen(load(z)));
  for (int column = 0; column < C; column += 16) store(y.template cols<16>(column), load(x.template cols<16>(column)));
  write(out, block, 3, widen(load(y)));
  for (int i = 0; i < R; i += 16) store(y.template rows<16>(i), load(x.template rows<16>(R - 16 - i)));
  write(out, block, 4, widen(load(y)));
}

#define CASE(T, R, C) \
  WKVC_KERNEL(shared_##T##_##R##_##C, 3, 1, 1) { shared_tiles<T, R, C>(args, block); }
CASE(f32, 16, 16)
CASE(f32, 32, 64)
CASE(tf32, 32, 64)
CASE(bf16x3, 16, 16)
CASE(bf16x3, 32, 64)
CASE(bf16x3, 128, 32)
CASE(f16x2, 16, 16)
CASE(f16x2, 32, 64)
CASE(f16, 16, 16)
CASE(f16, 32, 64)
CASE(f16, 128, 32)
CASE(bf16, 64, 32)
CASE(bf16, 16, 128)

// Tensors: x [16,64] f32, round(x), round_scaled(x), with a given scale, through a ScaledShared; and the scale.
template <class T>
WKVC_INLINE void rounding(const KernelArgs<3>& args, const Block& block) {
  const auto x = read<f32, 16, 64>(args.tensor[0], block);
  const TensorArg& out = args.tensor[1];
  write(out, block, 0, widen(round<T>(x)));
  const auto scaled = round_scaled<T>(x);
  write(out, block, 1, widen(scaled.data) * scaled.scale);
  const auto given = round_scaled<T>(x, 0.5f);
  write(out, block, 2, widen(given.data) * given.scale);
  const auto shared = block.scaled_shared<T, 16, 64>(8192, 16384);
  store(shared, scaled);
  const auto loaded = load(shared);
  write(out, block, 3, widen(loaded.data) * loaded.scale);
  write(args.tensor[2], block, 0, zeros<16, 16>() + scaled.scale);
}

WKVC_KERNEL(round_f32, 3, 1, 1) { rounding<f32>(args, block); }
WKVC_KERNEL(round_f16, 3, 1, 1) { rounding<f16>(args, block); }
WKVC_KERNEL(round_bf16, 3, 1, 1) { rounding<bf16>(args, block); }
