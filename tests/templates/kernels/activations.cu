#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

#define CASE(name)                                                                   \
  WKVC_KERNEL(activation_##name, 2, 1, 1) {                                          \
    write(args.tensor[1], block, 0, name(read<f32, 16, 64>(args.tensor[0], block))); \
  }
CASE(exp)
CASE(exp2)
CASE(log)
CASE(sigmoid)
CASE(tanh)
CASE(softplus)
CASE(relu)
CASE(sqrt)
CASE(reciprocal)
