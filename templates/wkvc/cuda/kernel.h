// A kernel's entry: grid.x = batches * heads * segments, one block each, or one cluster of blocks; or grid.x = heads,
// where the batch is always 0.
#pragma once

#include "wkvc/abi.h"
#include "wkvc/common/global/sequences.h"
#include "wkvc/cuda/block.h"

namespace wkvc {

WKVC_INLINE Block this_block(int warps, u32 cluster, u32 heads, u32 segments) {
  const u32 index = ptx::block_index() / cluster, sequence = index / segments;
  Block block;
  block.warp = ptx::shuffle(ptx::thread() / 32, 0);  // uniform, and known to be
  block.warps = warps;
  block.batch = sequence / heads;
  block.head = sequence % heads;
  block.segment = static_cast<int>(index % segments);
  block.segments = static_cast<int>(segments);
  block.rank = static_cast<int>(ptx::block_index() % cluster);
  block.memory = ptx::shared_memory();
  return block;
}

// A name as text, after what it stands for if it is a macro.
#define WKVC_TEXT(name) WKVC_QUOTED(name)
#define WKVC_QUOTED(name) #name

// Whether this compilation is to give a kernel code. WKVC_ONLY names the one that is wanted, so that those of one text
// can be compiled side by side; the others are left empty.
constexpr bool is_wanted([[maybe_unused]] const char* kernel) {
#ifdef WKVC_ONLY
  for (const char* only = WKVC_TEXT(WKVC_ONLY); *kernel != '\0' || *only != '\0'; ++kernel, ++only) {
    if (*kernel != *only) return false;
  }
#endif
  return true;
}

}  // namespace wkvc

#define WKVC_THIS_BLOCK(warps, ...)                                                       \
  wkvc::this_block(warps, 1 __VA_OPT__(*__VA_ARGS__), static_cast<wkvc::u32>(args.heads), \
                   static_cast<wkvc::u32>(args.segments))

// A kernel that waits until the one before it in the stream has ended: what is launched may take its place earlier
// (runtime/cuda/driver.h, Start). The body that follows sees `args` and `block`. It is a template, so that bodies of
// kernels that are not wanted are read and no more: beside three of these that is a twentieth of what a backward kernel
// takes NVRTC. After `blocks_per_sm` may come the blocks of a cluster, if not 1.
#define WKVC_KERNEL(name, tensors, warps, blocks_per_sm, ...)                                                       \
  template <bool>                                                                                                   \
  static WKVC_INLINE void name##_body(const wkvc::KernelArgs<tensors>& args, const wkvc::Block& block);             \
  extern "C" __global__ void __VA_OPT__(__cluster_dims__(__VA_ARGS__, 1, 1))                                        \
      __launch_bounds__((warps) * 32, blocks_per_sm) name(const __grid_constant__ wkvc::KernelArgs<tensors> args) { \
    if constexpr (wkvc::is_wanted(WKVC_TEXT(name))) {                                                               \
      wkvc::ptx::await_kernel_before();                                                                             \
      if constexpr (wkvc::kMapsSequences) {                                                                         \
        wkvc::Block block = WKVC_THIS_BLOCK(warps __VA_OPT__(, ) __VA_ARGS__);                                      \
        wkvc::find_sequence(block, args);                                                                           \
        if (!wkvc::is_left_out(args, block)) name##_body<true>(args, block);                                        \
      } else {                                                                                                      \
        name##_body<true>(args, WKVC_THIS_BLOCK(warps __VA_OPT__(, ) __VA_ARGS__));                                 \
      }                                                                                                             \
    }                                                                                                               \
  }                                                                                                                 \
  template <bool>                                                                                                   \
  static WKVC_INLINE void name##_body([[maybe_unused]] const wkvc::KernelArgs<tensors>& args,                       \
                                      [[maybe_unused]] const wkvc::Block& block)
