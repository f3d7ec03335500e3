// A kernel's entry: see host/launch.h.
#pragma once

#include "wkvc/abi.h"
#include "wkvc/common/global/sequences.h"
#include "wkvc/host/grid.h"

// The body that follows sees `args` and `block`. After `blocks_per_sm` may come the blocks of a cluster, if not 1.
#define WKVC_KERNEL(name, tensors, warps, blocks_per_sm, ...)                                                      \
  static void name##_body(const wkvc::KernelArgs<tensors>& args, const wkvc::Block& block);                        \
  extern "C" int name(const void* arguments, wkvc::host::Launch* launch) {                                         \
    const auto& args = *static_cast<const wkvc::KernelArgs<tensors>*>(arguments);                                  \
    const wkvc::host::GridShape shape{args.batches, args.heads, args.segments, warps, 1 __VA_OPT__(*__VA_ARGS__)}; \
    return wkvc::host::run_grid(shape, *launch, [&](wkvc::Block block) {                                           \
      wkvc::find_sequence(block, args);                                                                            \
      if (!wkvc::is_left_out(args, block)) name##_body(args, block);                                               \
    });                                                                                                            \
  }                                                                                                                \
  static void name##_body([[maybe_unused]] const wkvc::KernelArgs<tensors>& args,                                  \
                          [[maybe_unused]] const wkvc::Block& block)
