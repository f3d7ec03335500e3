// The entry of a kernel with roles of warp groups. There are no maps here.
#pragma once

#include "wkvc/host/kernel.h"

namespace wkvc {

inline void begin_roles(const Block& block) { block.barrier(); }

}  // namespace wkvc

#define WKVC_NEST_KERNEL(name, tensors, map_count, warps)                                                             \
  static void name##_nest(const wkvc::KernelArgs<tensors>& args, const wkvc::BoxMap* maps, const wkvc::Block& block); \
  WKVC_KERNEL(name, tensors, warps, 1) { name##_nest(args, nullptr, block); }                                         \
  static void name##_nest([[maybe_unused]] const wkvc::KernelArgs<tensors>& args,                                     \
                          [[maybe_unused]] const wkvc::BoxMap* maps, [[maybe_unused]] const wkvc::Block& block)
