// wkvc-manifest: {"op":"rwkv7","kernel":"naive_rwkv7_backward","config":"head 64x64 chunk 16 io bf16 mma f32 state f32","arch":"sm_90a","key_dim":64,"value_dim":64,"chunk":16,"warps":1,"shared_bytes":0,"pass":"backward","saved_every":1,"tensors":[{"name":"r","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"w","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"k","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"a","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"b","role":"input","dtype":"bf16","dims":["B","T","H","K"]},{"name":"v","role":"input","dtype":"bf16","dims":["B","T","H","V"]},{"name":"do","role":"output_gradient","dtype":"bf16","dims":["B","T","H","V"]},{"name":"dfinal_state","role":"final_state_gradient","dtype":"f32","dims":["B","H","V","K"]},{"name":"saved_states","role":"saved_states","dtype":"f32","dims":["B","H","N","V","K"]},{"name":"dr","role":"input_gradient","dtype":"f32","dims":["B","T","H","K"]},{"name":"dw","role":"input_gradient","dtype":"f32","dims":["B","T","H","K"]},{"name":"dk","role":"input_gradient","dtype":"f32","dims":["B","T","H","K"]},{"name":"da","role":"input_gradient","dtype":"f32","dims":["B","T","H","K"]},{"name":"db","role":"input_gradient","dtype":"f32","dims":["B","T","H","K"]},{"name":"dv","role":"input_gradient","dtype":"f32","dims":["B","T","H","V"]},{"name":"dinitial_state","role":"initial_state_gradient","dtype":"f32","dims":["B","H","V","K"]}]}
// The backward pass to naive_rwkv7.cu, which it follows in one text: one thread a head, plain loops. Each token replays
// the state from the last one saved.
namespace backward {

enum { r, w, k, a, b, v, d_o, dfinal, saved, dr, dw, dk, da, db, dv, dinitial, tensors };

struct Head {
  const wkvc::KernelArgs<tensors>& args;
  long long batch, head;

  WKVC_FUNCTION long long offset(int tensor, long long row) const {
    const wkvc::TensorArg& t = args.tensor[tensor];
    return batch * t.batch + row * t.row + head * t.head;
  }
  WKVC_FUNCTION float in(int tensor, long long t, int i) const {
    return widen(static_cast<const bf16*>(args.tensor[tensor].data)[offset(tensor, t) + i]);
  }
  WKVC_FUNCTION float* row(int tensor, long long row) const {
    return static_cast<float*>(args.tensor[tensor].data) + offset(tensor, row);
  }
  WKVC_FUNCTION float sigmoid(long long t, int j) const { return 1.0f / (1.0f + expf(-in(w, t, j))); }
  WKVC_FUNCTION float decay(long long t, int j) const { return expf(-0.60653066f * sigmoid(t, j)); }
};

WKVC_FUNCTION void step(const Head& at, long long t, float (&S)[V][K], const float (&decay)[K]) {
  for (int i = 0; i < V; ++i) {
    float Sa = 0;
    for (int j = 0; j < K; ++j) Sa += S[i][j] * at.in(a, t, j);
    for (int j = 0; j < K; ++j) S[i][j] = S[i][j] * decay[j] + Sa * at.in(b, t, j) + at.in(v, t, i) * at.in(k, t, j);
  }
}

// The state before token t.
WKVC_FUNCTION void replay(const Head& at, long long t, float (&S)[V][K]) {
  float decay[K];
  for (int i = 0; i < V; ++i)
    for (int j = 0; j < K; ++j) S[i][j] = at.row(saved, t / 16 * V + i)[j];
  for (long long s = t / 16 * 16; s < t; ++s) {
    for (int j = 0; j < K; ++j) decay[j] = at.decay(s, j);
    step(at, s, S, decay);
  }
}

// S: the state before token t, then the one after it; dS: the gradient of the one after it, then of the one before.
WKVC_FUNCTION void one_token(const Head& at, long long t, float (&S)[V][K], float (&dS)[V][K]) {
  float decay[K], ddecay[K] = {};
  for (int j = 0; j < K; ++j) decay[j] = at.decay(t, j);
  for (int tensor = dr; tensor <= dv; ++tensor)
    for (int j = 0; j < K; ++j) at.row(tensor, t)[j] = 0;
  for (int i = 0; i < V; ++i) {
    float Sa = 0, dSa = 0;
    for (int j = 0; j < K; ++j) {
      dS[i][j] += at.in(d_o, t, i) * at.in(r, t, j);
      Sa += S[i][j] * at.in(a, t, j);
      dSa += dS[i][j] * at.in(b, t, j);
      at.row(dv, t)[i] += dS[i][j] * at.in(k, t, j);
    }
    for (int j = 0; j < K; ++j) {
      at.row(dk, t)[j] += dS[i][j] * at.in(v, t, i);
      at.row(db, t)[j] += dS[i][j] * Sa;
      at.row(da, t)[j] += dSa * S[i][j];
      ddecay[j] += dS[i][j] * S[i][j];
      dS[i][j] = dS[i][j] * decay[j] + dSa * at.in(a, t, j);
    }
  }
  for (int j = 0; j < K; ++j) {
    const float sigmoid = at.sigmoid(t, j);
    at.row(dw, t)[j] = ddecay[j] * decay[j] * -0.60653066f * sigmoid * (1 - sigmoid);
  }
  step(at, t, S, decay);
  for (int i = 0; i < V; ++i)
    for (int j = 0; j < K; ++j) at.row(dr, t)[j] += at.in(d_o, t, i) * S[i][j];
}

WKVC_FUNCTION void one_head(const Head& at) {
  float S[V][K], dS[V][K];
  for (int i = 0; i < V; ++i)
    for (int j = 0; j < K; ++j) dS[i][j] = at.args.tensor[dfinal].data ? at.row(dfinal, i)[j] : 0.0f;
  for (long long t = at.args.tokens - 1; t >= 0; --t) {
    replay(at, t, S);
    one_token(at, t, S, dS);
  }
  for (int i = 0; i < V && at.args.tensor[dinitial].data; ++i)
    for (int j = 0; j < K; ++j) at.row(dinitial, i)[j] = dS[i][j];
}

}  // namespace backward

#ifdef __CUDACC__
extern "C" __global__ void naive_rwkv7_backward(wkvc::KernelArgs<backward::tensors> args) {
  if (threadIdx.x == 0) backward::one_head({args, blockIdx.x / args.heads, blockIdx.x % args.heads});
}
#else
extern "C" int naive_rwkv7_backward(const void* given, void*) {
  const auto& args = *static_cast<const wkvc::KernelArgs<backward::tensors>*>(given);
  for (long long batch = 0; batch < args.batches; ++batch)
    for (long long head = 0; head < args.heads; ++head) backward::one_head({args, batch, head});
  return 0;
}
#endif
