#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

#define CASE(T, C)                                                                                     \
  WKVC_KERNEL(inverse_##T##_##C, 2, 1, 1) {                                                            \
    const auto x = tril_strict(read<f32, C, C>(args.tensor[0], block));                                \
    write(args.tensor[1], block, 0, unit_lower_inverse<T>(x, block.floats(Shared<f32, C, C>::bytes))); \
  }
#define CASES(T) CASE(T, 16) CASE(T, 32) CASE(T, 48) CASE(T, 64)
CASES(f16)
CASES(bf16)
CASES(f32)
