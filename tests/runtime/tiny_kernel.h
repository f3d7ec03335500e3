// A kernel small enough to read: o[b,t,h,:] = x[b,t,h,:] + s[h,:], and the final state adds T to the initial one.
// One text for both targets, as emitted kernels are.
#pragma once

#include <string>

namespace wkvc {

inline std::string tiny_manifest_line() {
  return R"(// wkvc-manifest: {"op":"tiny","kernel":"tiny","config":"test","arch":"sm_90a","key_dim":8,"value_dim":8,)"
         R"("chunk":1,"warps":1,"shared_bytes":0,"tensors":[)"
         R"({"name":"x","role":"input","dtype":"f32","dims":["B","T","H","K"]},)"
         R"({"name":"s","role":"parameter","dtype":"f32","dims":["H","K"]},)"
         R"({"name":"o","role":"output","dtype":"f32","dims":["B","T","H","K"]},)"
         R"({"name":"initial_state","role":"initial_state","dtype":"f32","dims":["B","H","V","K"]},)"
         R"({"name":"final_state","role":"final_state","dtype":"f32","dims":["B","H","V","K"]}]})"
         "\n";
}

inline std::string tiny_kernel() {
  return tiny_manifest_line() + R"(
#include "wkvc/abi.h"
#ifdef __CUDACC__
#define TINY_HD __device__
#else
#include <cstdio>
#include "wkvc/host/launch.h"
#define TINY_HD
#endif

TINY_HD void tiny_block(const wkvc::KernelArgs<5>& args, long long block) {
  const long long b = block / args.heads, h = block % args.heads;
  auto at = [&](int i) {
    return static_cast<float*>(args.tensor[i].data) + b * args.tensor[i].batch + h * args.tensor[i].head;
  };
  for (long long t = 0; t < args.tokens; ++t) {
    for (int k = 0; k < 8; ++k) {
      at(2)[t * args.tensor[2].row + k] = at(0)[t * args.tensor[0].row + k] + at(1)[k];
    }
  }
  if (args.tensor[4].data == nullptr) return;
  for (int v = 0; v < 8; ++v) {
    for (int k = 0; k < 8; ++k) {
      const float before = args.tensor[3].data != nullptr ? at(3)[v * args.tensor[3].row + k] : 0.0f;
      at(4)[v * args.tensor[4].row + k] = before + static_cast<float>(args.tokens);
    }
  }
}

#ifdef __CUDACC__
extern "C" __global__ void tiny(const __grid_constant__ wkvc::KernelArgs<5> args) {
  if (threadIdx.x == 0) tiny_block(args, blockIdx.x);
}
#else
extern "C" int tiny(const void* kernel_args, wkvc::host::Launch* launch) {
  const auto& args = *static_cast<const wkvc::KernelArgs<5>*>(kernel_args);
  if (args.tokens == 13) {
    std::snprintf(launch->message, sizeof launch->message, "the watchdog ended it at token %d", 13);
    return 1;
  }
  for (long long block = 0; block < args.batches * args.heads; ++block) tiny_block(args, block);
  return 0;
}
#endif
)";
}

}  // namespace wkvc
