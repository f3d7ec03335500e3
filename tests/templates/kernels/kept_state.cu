#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Keeps a state of 16 rows in f16. Tensors [1,16,1,64]: x in f32; what is kept, in f16; results in f32: what was kept,
// as it is and as it was meant, and what was meant of a staged one.
WKVC_KERNEL(kept_state, 5, 1, 1) {
  Tile<f32, 16, 64> x;
  load_state(x, args.tensor[0], block, 0);
  keep_fitted_state(x, args.tensor[1], block, 0);
  const auto kept = load_kept_state<f16, 64>(args.tensor[1], block, 0);
  write(args.tensor[2], block, 0, widen(kept));
  write(args.tensor[3], block, 0, widen_fitted(kept));
  const auto staged = block.staged<f16, 64>(0, 0);
  stage_fitted_state(x, staged);
  write(args.tensor[4], block, 0, widen_fitted(load_kept_state(staged)));
}
