// The warp dialect: what each warp of a block does, in order. Register tiles are vectors of rank 2, shared tiles are
// memrefs in memory space 3; every offset and barrier is explicit. One operation is one call into templates/.
//
//   warp.kernel "example_forward" warps 4 schedule #wkvc.schedule<grid(blocks = 2)> ... {
//     %k_ring = warp.ring "k" offset 0 stages 2 : memref<16x64xbf16, 3>
//     warp.role state first 0 warps 4 {
//       %S = warp.load_state "initial_state" : vector<16x64xf32>
//       %last = warp.sweep over chunks carry %S : vector<16x64xf32> {
//       ^bb0(%S0: vector<16x64xf32>):
//         warp.wait_copies 0
//         warp.barrier
//         ...
//         warp.yield %S_next : vector<16x64xf32>
//       }
//       warp.store_state "final_state" %last : vector<16x64xf32>
//     }
//   }
#ifndef WKVC_WARP_OPS
#define WKVC_WARP_OPS

include "codegen/warp/ops/ControlOps.td"
include "codegen/warp/ops/GlobalOps.td"
include "codegen/warp/ops/KernelOps.td"
include "codegen/warp/ops/ScaleOps.td"
include "codegen/warp/ops/SharedOps.td"
include "codegen/warp/ops/SyncOps.td"
include "codegen/warp/ops/TileOps.td"

#endif
