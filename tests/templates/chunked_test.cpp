// A whole chunked recurrence, written with the tile library as an emitted kernel would be, against one token at a time.
#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

constexpr int kHead = 64;

struct Inputs {
  Values r, w, k, v, a, b, state;
};

Inputs make_inputs(DType dtype, const Shape& shape) {
  Inputs in;
  const auto tokens = [&](unsigned seed) { return rounded(dtype, normal(shape.size(), seed)); };
  in.r = tokens(1);
  in.w = tokens(2);
  in.k = tokens(3);
  in.v = tokens(4);
  in.a = tokens(5);
  in.b = in.a;
  for (long long i = 0; i < shape.size(); i += kHead) {
    double norm = 0;
    for (int j = 0; j < kHead; ++j) norm += in.a[i + j] * in.a[i + j];
    for (int j = 0; j < kHead; ++j) {
      in.b[i + j] = rounded(dtype, 0.7 * in.a[i + j] / std::sqrt(norm));
      in.a[i + j] = rounded(dtype, -in.a[i + j] / std::sqrt(norm));
    }
  }
  in.state = rounded(DType::f32, normal(shape.batches * shape.heads * kHead * kHead, 7));
  return in;
}

// One token of one head. S is V x K.
void step(double* s, const Inputs& in, long long at, double* o) {
  double decay[kHead];
  for (int j = 0; j < kHead; ++j) decay[j] = std::exp(-0.6065306597 / (1 + std::exp(-in.w[at + j])));
  for (int i = 0; i < kHead; ++i, s += kHead) {
    double sa = 0;
    for (int j = 0; j < kHead; ++j) sa += s[j] * in.a[at + j];
    o[at + i] = 0;
    for (int j = 0; j < kHead; ++j) {
      s[j] = s[j] * decay[j] + sa * in.b[at + j] + in.v[at + i] * in.k[at + j];
      o[at + i] += s[j] * in.r[at + j];
    }
  }
}

struct Mode {
  const char* entry;
  DType storage;
  double o, state;  // tolerances
};

void check_chunked(const Mode& mode, long long tokens) {
  const Shape shape{2, tokens, 3, kHead}, state_shape{2, kHead, 3, kHead};
  const Inputs in = make_inputs(mode.storage, shape);
  Values state = in.state, o(shape.size());
  for (long long b = 0; b < shape.batches; ++b) {
    for (long long h = 0; h < shape.heads; ++h) {
      double* s = &state[(b * shape.heads + h) * kHead * kHead];
      for (long long t = 0; t < tokens; ++t) step(s, in, ((b * tokens + t) * shape.heads + h) * kHead, o.data());
    }
  }
  const auto tensor = [&](const Values& values) { return Tensor(mode.storage, shape).set(values); };
  Launch launch{"chunked", mode.entry, 4, 96 * 1024, shape.batches, tokens, shape.heads};
  launch.tensors = {tensor(in.r),
                    tensor(in.w),
                    tensor(in.k),
                    tensor(in.v),
                    tensor(in.a),
                    tensor(in.b),
                    Tensor::state(state_shape).set(in.state),
                    Tensor(mode.storage, shape),
                    Tensor::state(state_shape)};
  check(launch, {{7, o, mode.o}, {8, state, mode.state}});
}

class Chunked : public testing::TestWithParam<Mode> {};

TEST_P(Chunked, MatchesTheRecurrence) {
  for (const long long tokens : {1, 16, 45}) check_chunked(GetParam(), tokens);
}

// Rounding the result to bf16 alone costs 1.66e-3.
INSTANTIATE_TEST_SUITE_P(Modes, Chunked,
                         testing::Values(Mode{"chunked_bf16_f16", DType::bf16, 1.75e-3, 3e-4},
                                         Mode{"chunked_bf16_bf16", DType::bf16, 4e-3, 3e-3},
                                         Mode{"chunked_f32_f32", DType::f32, 1e-6, 1e-6}));

}  // namespace
}  // namespace wkvc::test
