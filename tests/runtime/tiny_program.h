// A text of three kernels small enough to read. Of S_t[v,k] = S_{t-1}[v,k] + x_t[k]·u[k] and o_t[k] = ½·S_t[0,k]²: the
// forward pass, which saves the states before tokens 0, 4, 8 …; the backward pass, which replays four tokens at a time
// from them; and the sum of du over batches. One text for both targets, as emitted ones are.
#pragma once

#include <string>

namespace wkvc {

inline std::string tensor_json(const std::string& name, const std::string& role, const std::string& dims) {
  return R"({"name":")" + name + R"(","role":")" + role + R"(","dtype":"f32","dims":[)" + dims + "]}";
}

inline std::string program_line(const std::string& kernel, const std::string& fields, const std::string& tensors) {
  return R"(// wkvc-manifest: {"op":"tiny","kernel":")" + kernel +
         R"(","config":"test","arch":"sm_90a","key_dim":8,"value_dim":8,"chunk":2,"warps":1,"shared_bytes":0)" +
         fields + R"(,"tensors":[)" + tensors + "]}\n";
}

inline std::string tiny_forward_line() {
  const std::string token = R"("B","T","H","K")", state = R"("B","H","V","K")";
  return program_line("tiny_forward", R"(,"saved_every":2)",
                      tensor_json("x", "input", token) + "," + tensor_json("u", "parameter", R"("H","K")") + "," +
                          tensor_json("initial_state", "initial_state", state) + "," +
                          tensor_json("o", "output", token) + "," + tensor_json("final_state", "final_state", state) +
                          "," + tensor_json("saved_states", "saved_states", R"("B","H","N","V","K")"));
}

inline std::string tiny_backward_lines() {
  const std::string token = R"("B","T","H","K")", state = R"("B","H","V","K")";
  const std::string parts = tensor_json("du_parts", "workspace", R"("B","H","K")");
  return program_line("tiny_backward", R"(,"pass":"backward","saved_every":2)",
                      tensor_json("x", "input", token) + "," + tensor_json("u", "parameter", R"("H","K")") + "," +
                          tensor_json("do", "output_gradient", token) + "," +
                          tensor_json("dfinal_state", "final_state_gradient", state) + "," +
                          tensor_json("saved_states", "saved_states", R"("B","H","N","V","K")") + "," +
                          tensor_json("dx", "input_gradient", token) + "," + parts + "," +
                          tensor_json("dinitial_state", "initial_state_gradient", state)) +
         program_line("tiny_sum", R"(,"pass":"backward","grid":"H")",
                      parts + "," + tensor_json("du", "parameter_gradient", R"("H","K")"));
}

inline std::string tiny_program() {
  return tiny_forward_line() + tiny_backward_lines() + R"(
#include "wkvc/abi.h"
#ifdef __CUDACC__
#define TINY __device__ inline
#define TINY_KERNEL(name, n)                                                            \
  extern "C" __global__ void name(const __grid_constant__ wkvc::KernelArgs<n> args) {   \
    if (threadIdx.x == 0) name##_block(args, blockIdx.x);                               \
  }
#else
#include "wkvc/host/launch.h"
#define TINY inline
#define TINY_KERNEL(name, n)                                                                                  \
  extern "C" int name(const void* given, wkvc::host::Launch* launch) {                                        \
    for (long long block = 0; block < launch->blocks; ++block)                                                \
      name##_block(*static_cast<const wkvc::KernelArgs<n>*>(given), block);                                   \
    return 0;                                                                                                 \
  }
#endif

template <int N>
TINY float* at(const wkvc::KernelArgs<N>& args, int tensor, long long block, long long row) {
  const wkvc::TensorArg& t = args.tensor[tensor];
  return static_cast<float*>(t.data) + block / args.heads * t.batch + block % args.heads * t.head + row * t.row;
}

TINY void tiny_forward_block(const wkvc::KernelArgs<6>& args, long long block) {
  enum { x, u, initial_state, o, final_state, saved };
  float S[8][8];
  for (int v = 0; v < 8; ++v)
    for (int k = 0; k < 8; ++k) S[v][k] = args.tensor[initial_state].data ? at(args, initial_state, block, v)[k] : 0.f;
  for (long long t = 0; t < args.tokens; ++t) {
    for (int v = 0; v < 8 && t % 4 == 0; ++v)
      for (int k = 0; k < 8; ++k) at(args, saved, block, t / 4 * 8 + v)[k] = S[v][k];
    for (int v = 0; v < 8; ++v)
      for (int k = 0; k < 8; ++k) S[v][k] += at(args, x, block, t)[k] * at(args, u, block, 0)[k];
    for (int k = 0; k < 8; ++k) at(args, o, block, t)[k] = 0.5f * S[0][k] * S[0][k];
  }
  for (int v = 0; v < 8 && args.tensor[final_state].data; ++v)
    for (int k = 0; k < 8; ++k) at(args, final_state, block, v)[k] = S[v][k];
}

TINY void tiny_backward_block(const wkvc::KernelArgs<8>& args, long long block) {
  enum { x, u, d_o, dfinal, saved, dx, du_parts, dinitial };
  float dS[8][8], du[8] = {};
  for (int v = 0; v < 8; ++v)
    for (int k = 0; k < 8; ++k) dS[v][k] = args.tensor[dfinal].data ? at(args, dfinal, block, v)[k] : 0.f;
  for (long long t = args.tokens - 1; t >= 0; --t) {
    for (int k = 0; k < 8; ++k) {
      float S = at(args, saved, block, t / 4 * 8)[k];
      for (long long s = t / 4 * 4; s <= t; ++s) S += at(args, x, block, s)[k] * at(args, u, block, 0)[k];
      dS[0][k] += at(args, d_o, block, t)[k] * S;
      float sum = 0;
      for (int v = 0; v < 8; ++v) sum += dS[v][k];
      at(args, dx, block, t)[k] = sum * at(args, u, block, 0)[k];
      du[k] += sum * at(args, x, block, t)[k];
    }
  }
  for (int k = 0; k < 8; ++k) at(args, du_parts, block, 0)[k] = du[k];
  for (int v = 0; v < 8 && args.tensor[dinitial].data; ++v)
    for (int k = 0; k < 8; ++k) at(args, dinitial, block, v)[k] = dS[v][k];
}

TINY void tiny_sum_block(const wkvc::KernelArgs<2>& args, long long block) {
  for (int k = 0; k < 8; ++k) {
    float sum = 0;
    for (long long b = 0; b < args.batches; ++b) sum += at(args, 0, b * args.heads + block, 0)[k];
    at(args, 1, block, 0)[k] = sum;
  }
}

TINY_KERNEL(tiny_forward, 6)
TINY_KERNEL(tiny_backward, 8)
TINY_KERNEL(tiny_sum, 2)
)";
}

}  // namespace wkvc
