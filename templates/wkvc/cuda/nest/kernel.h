// The entry of a kernel with roles of warp groups and maps of tensors: grid.x = batches * heads, one block each.
#pragma once

#include "wkvc/cuda/kernel.h"
#include "wkvc/cuda/nest/ptx.h"

namespace wkvc {

template <int N>
WKVC_INLINE Block block_of_nest(const KernelArgs<N>& args, int warps) {
  Block block = WKVC_THIS_BLOCK(warps);
  block.memory = ptx::swizzled_memory();
  return block;
}

// To be called by all warps when one has prepared the mbarriers.
WKVC_INLINE void begin_roles(const Block& block) {
  ptx::fence_mbarrier_init();
  block.barrier();
}

}  // namespace wkvc

// The body that follows sees `args`, `maps` and `block`. See WKVC_KERNEL.
#define WKVC_NEST_KERNEL(name, tensors, map_count, warps)                                                          \
  template <bool>                                                                                                  \
  static WKVC_INLINE void name##_body(const wkvc::KernelArgs<tensors>& args, const wkvc::BoxMap(&maps)[map_count], \
                                      const wkvc::Block& block);                                                   \
  extern "C" __global__ void __launch_bounds__((warps) * 32, 1)                                                    \
      name(const __grid_constant__ wkvc::MappedArgs<tensors, map_count> args) {                                    \
    static_assert(!wkvc::kMapsSequences, "batches of kernels with maps are sequences");                            \
    if constexpr (wkvc::is_wanted(WKVC_TEXT(name))) {                                                              \
      wkvc::ptx::await_kernel_before();                                                                            \
      name##_body<true>(args.launch, args.map, wkvc::block_of_nest(args.launch, warps));                           \
    }                                                                                                              \
  }                                                                                                                \
  template <bool>                                                                                                  \
  static WKVC_INLINE void name##_body([[maybe_unused]] const wkvc::KernelArgs<tensors>& args,                      \
                                      [[maybe_unused]] const wkvc::BoxMap(&maps)[map_count],                       \
                                      [[maybe_unused]] const wkvc::Block& block)
