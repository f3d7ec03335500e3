// The warp dialect: what each warp of a block does, in order. Tiles say where their elements lie, in registers or in
// shared memory; every offset and barrier is explicit. One operation is one call into templates/.
//
//   warp.kernel "example_forward" warps 4 schedule #wkvc.schedule<grid(blocks = 2)> ... {
//     %k_ring = warp.ring "k" offset 0 stages 2 : !warp.tile<16x64xbf16, shared>
//     warp.role state first 0 warps 4 {
//       %S = warp.load_state "initial_state" : !warp.tile<16x64xf32, fragments>
//       %last = warp.sweep over chunks carry %S : !warp.tile<16x64xf32, fragments> {
//       ^bb0(%S0: !warp.tile<16x64xf32, fragments>):
//         warp.wait_copies 0
//         warp.barrier
//         ...
//         warp.yield %S_next : !warp.tile<16x64xf32, fragments>
//       }
//       warp.store_state "final_state" %last : !warp.tile<16x64xf32, fragments>
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
