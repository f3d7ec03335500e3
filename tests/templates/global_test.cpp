#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check.h"

namespace wkvc::test {
namespace {

struct Copies {
  const char* name;
  DType dtype;
  int chunk, columns, warps;
};

class CopiesTest : public testing::TestWithParam<std::tuple<Copies, long long, int>> {};

// The largest |x| of each chunk, sixteen times.
Values chunk_maxima(const Values& x, const Shape& shape, int chunk) {
  const long long chunks = (shape.rows + chunk - 1) / chunk;
  Values maxima(shape.batches * chunks * shape.heads * 16);
  for (long long i = 0; i < shape.size(); ++i) {
    const long long head = i / shape.columns % shape.heads, row = i / shape.columns / shape.heads % shape.rows;
    const long long batch = i / shape.columns / shape.heads / shape.rows;
    double* slot = &maxima[((batch * chunks + row / chunk) * shape.heads + head) * 16];
    for (int n = 0; n < 16; ++n) slot[n] = std::max(slot[n], std::abs(x[i]));
  }
  return maxima;
}

TEST_P(CopiesTest, RoundTripWithTails) {
  const auto& [copies, tokens, padding] = GetParam();
  const Shape shape{2, tokens, 3, copies.columns};
  const Values x = rounded(copies.dtype, normal(shape.size(), 1));
  const Shape maxima{shape.batches, (tokens + copies.chunk - 1) / copies.chunk, shape.heads, 16};
  Launch launch{"global", std::string("copies_") + copies.name, copies.warps, 64 * 1024, 2, tokens, 3, {}};
  launch.tensors = {Tensor(copies.dtype, shape, padding).set(x), Tensor(copies.dtype, shape, padding),
                    Tensor(copies.dtype, shape, padding), Tensor(DType::f32, maxima)};
  check(launch, {{1, x, 0}, {2, x, 0}, {3, chunk_maxima(x, shape, copies.chunk), 0}});
}

// A padding of 3 elements leaves no row aligned: everything moves element by element.
INSTANTIATE_TEST_SUITE_P(All, CopiesTest,
                         testing::Combine(testing::Values(Copies{"f32_16_64_4", DType::f32, 16, 64, 4},
                                                          Copies{"f16_16_64_1", DType::f16, 16, 64, 1},
                                                          Copies{"bf16_16_64_4", DType::bf16, 16, 64, 4},
                                                          Copies{"bf16_32_128_3", DType::bf16, 32, 128, 3},
                                                          Copies{"exchanged_bf16_16_64", DType::bf16, 16, 64, 4},
                                                          Copies{"exchanged_f16_32_128", DType::f16, 32, 128, 1},
                                                          Copies{"exchanged_bf16_16_32", DType::bf16, 16, 32, 2},
                                                          Copies{"exchanged_f16_48_48", DType::f16, 48, 48, 1}),
                                          testing::Values(1LL, 16LL, 50LL), testing::Values(0, 8, 3)));

// The last batch's tail lies at the end of the buffer, the other batches' tails before live rows: NaN behind `tokens`
// rows of a longer tensor shows whether anything looks at them.
TEST(Copies, NeverReadPastTheTail) {
  const Shape shape{2, 64, 3, 64};
  const long long tokens = 21;
  Values x = rounded(DType::bf16, normal(shape.size(), 1)), expected = x, maxima;
  for (long long i = 0; i < shape.size(); ++i) {
    if (i / (shape.heads * shape.columns) % shape.rows < tokens) continue;
    x[i] = std::numeric_limits<double>::quiet_NaN();
    expected[i] = -1;  // what the output already holds
  }
  Launch launch{"global", "copies_bf16_16_64_4", 4, 64 * 1024, 2, tokens, 3, {}};
  const Values before(shape.size(), -1);
  launch.tensors = {Tensor(DType::bf16, shape).set(x), Tensor(DType::bf16, shape).set(before),
                    Tensor(DType::bf16, shape).set(before), Tensor(DType::f32, {2, 2, 3, 16})};
  check(launch, {{1, expected, 0}, {2, expected, 0}});
}

TEST(States, LoadMultiplyStore) {
  const Shape shape{2, 64, 3, 64};
  const Values state = rounded(DType::f32, normal(shape.size(), 1));
  const Values parameters = rounded(DType::bf16, normal(3 * 64, 2));
  for (const bool has_initial : {true, false}) {
    Values expected;
    for (long long i = 0; i < shape.size(); ++i) {
      const double s = has_initial ? state[i] : 0;
      expected.push_back((s + 1) * parameters[i / (64 * 64) % 3 * 64 + i % 64]);
    }
    Launch launch{"global", "states", 4, 1024, 2, 0, 3, {}};
    launch.tensors = {has_initial ? Tensor::state(shape).set(state) : Tensor::absent(), Tensor::state(shape),
                      Tensor(DType::bf16, {1, 1, 3, 64}).set(parameters)};
    check(launch, {{1, expected, 1e-7}});
    launch.tensors[1] = Tensor::absent();
    check(launch, {});
  }
}

void check_backwards(DType dtype, const std::string& name, int warps, int columns, long long tokens, int padding) {
  const Shape shape{2, tokens, 3, columns};
  const Values x = rounded(dtype, normal(shape.size(), 1));
  Launch launch{"global", "backwards_" + name, warps, 64 * 1024, 2, tokens, 3, {}};
  launch.tensors = {Tensor(dtype, shape, padding).set(x), Tensor(dtype, shape, padding)};
  check(launch, {{1, x, 0}});
}

TEST(CopiesBackwards, VisitsEveryChunk) {
  for (const long long tokens : {1, 16, 50, 96, 117}) {
    for (const int padding : {0, 3}) {
      check_backwards(DType::f32, "f32_2", 4, 64, tokens, padding);
      check_backwards(DType::bf16, "bf16_3", 1, 16, tokens, padding);
    }
  }
}

TEST(States, AreKeptInOtherDTypes) {
  for (const auto& [name, dtype] : {std::pair{"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}}) {
    const Shape shape{2, 96, 3, 32};
    const Values x = normal(shape.size(), 1);
    Values doubled = rounded(dtype, x);
    for (double& v : doubled) v *= 2;
    Launch launch{"global", std::string("kept_states_") + name, 2, 8192, 2, shape.rows, 3, {}};
    launch.tensors = {Tensor::state(shape).set(x), Tensor::state(shape, dtype), Tensor::state(shape)};
    check(launch, {{2, doubled, 0}});
  }
}

void check_token_numbers(DType dtype, const std::string& name, int chunk, long long tokens) {
  const long long chunks = (tokens + chunk - 1) / chunk;
  const Shape shape{2, tokens, 3, 1}, whole{2, chunks * chunk, 3, 16};
  const Values x = rounded(dtype, normal(shape.size(), 1));
  Values doubled, repeated(whole.size());
  for (long long i = 0; i < shape.size(); ++i) {
    doubled.push_back(2 * x[i]);
    const long long batch = i / (3 * tokens), in_batch = i % (3 * tokens);
    std::fill_n(&repeated[(batch * 3 * whole.rows + in_batch) * 16], 16, x[i]);
  }
  Launch launch{"global", "token_numbers_" + name, 1, 1024, 2, tokens, 3, {}};
  launch.tensors = {Tensor(dtype, shape).set(x), Tensor(dtype, shape), Tensor(dtype, shape), Tensor(DType::f32, whole),
                    Tensor(DType::f32, whole)};
  check(launch, {{1, doubled, 0}, {2, doubled, 0}, {3, repeated, 0}, {4, repeated, 0}});
}

TEST(TokenNumbers, LoadAndStoreWithTails) {
  for (const long long tokens : {1, 16, 45, 64}) {
    check_token_numbers(DType::f32, "f32_16", 16, tokens);
    check_token_numbers(DType::bf16, "bf16_32", 32, tokens);
  }
}

struct Rounding {
  const char* name;
  DType dtype;
  double error;
};
constexpr Rounding kRoundings[] = {{"f32", DType::f32, 1e-6}, {"f16", DType::f16, 3e-4}, {"bf16", DType::bf16, 2.5e-3}};

TEST(Parameters, GetGradients) {
  for (const auto& [name, dtype, error] : kRoundings) {
    const Shape shape{2, 16, 3, 64}, gradient{2, 1, 3, 64};
    const Values x = rounded(DType::f32, normal(shape.size(), 1));
    Values expected(gradient.size());
    for (long long i = 0; i < shape.size(); ++i) expected[i / (16 * 3 * 64) * 3 * 64 + i % (3 * 64)] += x[i];
    Launch launch{"global", std::string("parameter_gradient_") + name, 1, 64 * 1024, 2, 0, 3, {}};
    launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(dtype, gradient)};
    check(launch, {{1, expected, error}});
  }
}

TEST(Parameters, LieInColumnsToo) {
  for (const auto& [name, dtype, error] : kRoundings) {
    const Shape shape{1, 1, 3, 48};
    const Values x = rounded(dtype, normal(shape.size(), 1));
    Values doubled;
    for (const double value : x) doubled.push_back(2 * value);
    Launch launch{"global", std::string("parameter_column_") + name, 1, 1024, 1, 0, 3, {}};
    launch.tensors = {Tensor(dtype, shape).set(x), Tensor(dtype, shape)};
    check(launch, {{1, doubled, 0}});
  }
}

// Rows of 48 columns, padded or not, in the order of the batches: the same bytes every time.
TEST(Parameters, AreSummedOverBatchesAndSegments) {
  for (const auto& [name, dtype, error] : kRoundings) {
    for (const long long batches : {1, 2, 7}) {
      for (const auto& [segments, padding] : {std::pair{1LL, 0}, {1, 3}, {5, 0}}) {
        const Shape parts{batches, segments, 3, 48}, sum{1, 1, 3, 48};
        const Values x = rounded(DType::f32, normal(parts.size(), 1));
        Values expected(sum.size());
        for (long long i = 0; i < parts.size(); ++i) expected[i % sum.size()] += x[i];
        Launch launch{"global", std::string("batch_sum_") + name, 1, 1024, batches, segments, 3, {}};
        launch.tensors = {Tensor(DType::f32, parts, padding).set(x), Tensor(dtype, sum, padding)};
        check(launch, {{1, expected, error}});
      }
    }
  }
}

}  // namespace
}  // namespace wkvc::test
