// How long kernels take, guessed from their code: what ranks configurations before, or without, measuring.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/target/Target.h"
#include "runtime/cuda/cubin.h"
#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

// What a compiled kernel is judged by.
struct KernelFacts {
  Manifest manifest;
  CubinUsage usage;
  std::int64_t code_bytes = 0;  // of its machine code
};

struct GpuFacts {
  int sm_count = sm_90a.sm_count;
  double clock_hz = sm_90a.clock_hz;
  double bytes_per_second = sm_90a.bytes_per_second;
};

// Milliseconds of all the kernels, one after another. Each takes the longer of
// - its bytes at the GPU's bandwidth, and
// - waves · chunks · the cycles of a chunk. A warp runs nearly the whole of a kernel's code once a chunk, so that its
//   instructions are its bytes over those of one. One warp a scheduler waits for its own results; more of them fill
//   each other's gaps. How many cycles an instruction takes either way is the target's.
double predicted_ms(std::span<const KernelFacts> kernels, LaunchSize size, const GpuFacts& gpu);

}  // namespace wkvc
