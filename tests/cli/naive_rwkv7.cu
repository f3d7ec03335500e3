// wkvc-manifest: {"op":"rwkv7","kernel":"naive_rwkv7","config":"head 64x64 chunk 16 io bf16 mma f32 state f32","arch":"sm_90a","key_dim":64,"value_dim":64,"chunk":16,"warps":1,"shared_bytes":0,"tensors":[{"name":"r","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"w","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"k","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"a","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"b","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"v","role":"input","dtype":"bf16","dims":["B","T","H","V"]},{"name":"initial_state","role":"initial_state","dtype":"f32","dims":["B","H","V","K"]},{"name":"o","role":"output","dtype":"bf16","dims":["B","T","H","V"]},{"name":"final_state","role":"final_state","dtype":"f32","dims":["B","H","V","K"]}]}
// One thread a head, plain loops: a kernel for the tests of the command that owes nothing to the compiler.
#include "wkvc/abi.h"

#ifdef __CUDACC__
#define WKVC_FUNCTION __device__ inline
#else
#include <math.h>
#define WKVC_FUNCTION inline
#endif

typedef unsigned short bf16;

WKVC_FUNCTION float widen(bf16 x) {
  union {
    unsigned u;
    float f;
  } bits;
  bits.u = static_cast<unsigned>(x) << 16;
  return bits.f;
}

WKVC_FUNCTION bf16 narrow(float x) {
  union {
    float f;
    unsigned u;
  } bits;
  bits.f = x;
  return static_cast<bf16>((bits.u + 0x7fffu + ((bits.u >> 16) & 1u)) >> 16);
}

constexpr int K = 64, V = 64;
enum { r, w, k, a, b, v, initial_state, o, final_state, tensors };

WKVC_FUNCTION void one_head(const wkvc::KernelArgs<tensors>& args, long long batch, long long head) {
  float S[V][K], decay[K];
  const auto row_of = [&](int tensor, long long row) {
    const wkvc::TensorArg& t = args.tensor[tensor];
    return batch * t.batch + row * t.row + head * t.head;
  };
  const auto at = [&](int tensor, long long t) {
    return static_cast<bf16*>(args.tensor[tensor].data) + row_of(tensor, t);
  };
  const auto state_row = [&](int tensor, int i) {
    return static_cast<float*>(args.tensor[tensor].data) + row_of(tensor, i);
  };
  for (int i = 0; i < V; ++i)
    for (int j = 0; j < K; ++j) S[i][j] = args.tensor[initial_state].data ? state_row(initial_state, i)[j] : 0.0f;
  for (long long t = 0; t < args.tokens; ++t) {
    for (int j = 0; j < K; ++j) decay[j] = expf(-0.60653066f / (1.0f + expf(-widen(at(w, t)[j]))));
    for (int i = 0; i < V; ++i) {
      float Sa = 0, sum = 0;
      for (int j = 0; j < K; ++j) Sa += S[i][j] * widen(at(a, t)[j]);
      for (int j = 0; j < K; ++j) {
        S[i][j] = S[i][j] * decay[j] + Sa * widen(at(b, t)[j]) + widen(at(v, t)[i]) * widen(at(k, t)[j]);
        sum += S[i][j] * widen(at(r, t)[j]);
      }
      at(o, t)[i] = narrow(sum);
    }
  }
  if (args.tensor[final_state].data)
    for (int i = 0; i < V; ++i)
      for (int j = 0; j < K; ++j) state_row(final_state, i)[j] = S[i][j];
}

#ifdef __CUDACC__
extern "C" __global__ void naive_rwkv7(wkvc::KernelArgs<tensors> args) {
  if (threadIdx.x == 0) one_head(args, blockIdx.x / args.heads, blockIdx.x % args.heads);
}
#else
extern "C" int naive_rwkv7(const void* given, void*) {
  const auto& args = *static_cast<const wkvc::KernelArgs<tensors>*>(given);
  for (long long batch = 0; batch < args.batches; ++batch)
    for (long long head = 0; head < args.heads; ++head) one_head(args, batch, head);
  return 0;
}
#endif
