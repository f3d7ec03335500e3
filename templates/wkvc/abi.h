// What a kernel is launched with. Shared by the emitted kernels (NVRTC and host compiler) and the runtime,
// so it includes nothing and uses builtin types only.
#pragma once

namespace wkvc {

// One tensor of a kernel; the last dimension is contiguous, strides count elements.
// Token tensors [B,T,H,D]: all three strides; so with one number a token, [B,T,H]. States [B,H,V,K] and [B,H,N,V,K]:
// `row` strides over V. Per-head parameters [H,D]: head only; their gradients [B,H,D] also batch, [B,H,S,D] row as
// well.
struct TensorArg {
  void* data;  // null: absent (an initial state of zeros, a final state nobody asked for)
  long long batch;
  long long row;  // tokens, or rows of a state; within ±2^24, so that offsets in a chunk fit 32 bits
  long long head;
  long long vector16;  // 1: data and every stride are multiples of 16 bytes, so rows may be moved in 16-byte pieces
};

template <int N>
struct KernelArgs {
  long long batches;
  long long tokens;
  long long heads;
  long long vector16;  // 1: that of every tensor [B,T,H,D] is
  long long segments;  // of each sequence, a block for each; at least 1
  TensorArg tensor[N];
};

}  // namespace wkvc
