// How long kernels take, guessed from their code: what ranks configurations before, or without, measuring.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/cubin.h"
#include "runtime/launch_size.h"
#include "runtime/manifest.h"

namespace wkvc {

// What a compiled kernel is judged by.
struct KernelFacts {
  Manifest manifest;
  CubinUsage usage;
  std::int64_t code_bytes = 0;  // of its machine code
};

struct GpuFacts {
  int sm_count = 132;
  double clock_hz = 1.755e9;
  double bytes_per_second = 4.3e12;
};

// Milliseconds of all the kernels, one after another. Each takes the longer of
// - its bytes at the GPU's bandwidth, and
// - waves · chunks · the cycles of a chunk. A warp runs nearly the whole of a kernel's code once a chunk, so that its
//   instructions are code_bytes / 16. One warp a scheduler waits for its own results, 4 cycles an instruction; more of
//   them fill each other's gaps up to one instruction in 2.2 cycles. Both were read off profiles of an H200
//   (docs/experiments.md).
double predicted_ms(std::span<const KernelFacts> kernels, LaunchSize size, const GpuFacts& gpu);

}  // namespace wkvc
