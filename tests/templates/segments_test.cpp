#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

struct Kind {
  const char* name;
  bool full;
  int V, K;
  bool backward;
  int strips = 1;  // of 16 rows that a block has at once

  int rows() const { return V + (full ? K : 16); }
  std::string text() const {
    return std::string(full ? "full" : "diagonal") + "_" + std::to_string(V) + "_" + std::to_string(K);
  }
};

// An element of Tensor::state.
long long at(const Shape& shape, long long batch, long long row, long long head, long long column) {
  return ((batch * shape.heads + head) * shape.rows + row) * shape.columns + column;
}

void expect_start(bool full) {
  const Kind kind{"", full, 32, 48, false};
  const Shape shape{1, kind.rows(), 1, kind.K};
  Values expected(shape.size());
  for (int i = kind.V; i < kind.rows(); ++i)
    for (int j = 0; j < kind.K; ++j) expected[at(shape, 0, i, 0, j)] = !full || i - kind.V == j ? 1 : 0;
  Launch launch{"segments", "start_" + kind.text(), kind.rows() / 16};
  launch.tensors = {Tensor::state(shape)};
  check(launch, {{0, expected, 0}});
}

TEST(Summaries, BeginWithZeroAndTheIdentity) { expect_start(true); }
TEST(Summaries, BeginWithZeroAndOnes) { expect_start(false); }

class CombineTest : public testing::TestWithParam<std::tuple<Kind, long long>> {};

// What combining leaves: states in the first V rows of each segment, maps as they were.
Values combined(const Kind& kind, const Values& summaries, const Values& initial, const Shape& shape,
                long long segments) {
  Values result = summaries;
  const Shape state{shape.batches, kind.V, shape.heads, kind.K};
  for (long long b = 0; b < shape.batches; ++b)
    for (long long h = 0; h < shape.heads; ++h)
      for (int v = 0; v < kind.V; ++v) {
        Values S(kind.K);
        for (int j = 0; j < kind.K; ++j) S[j] = initial[at(state, b, v, h, j)];
        for (long long n = 0; n < segments; ++n) {
          const long long row0 = kind.rows() * (kind.backward ? segments - 1 - n : n);
          Values next(kind.K);
          for (int j = 0; j < kind.K; ++j) {
            result[at(shape, b, row0 + v, h, j)] = S[j];
            next[j] = summaries[at(shape, b, row0 + v, h, j)];
            for (int i = 0; i < (kind.full ? kind.K : 0); ++i)
              next[j] += S[i] * summaries[at(shape, b, row0 + kind.V + i, h, j)];
            if (!kind.full) next[j] += S[j] * summaries[at(shape, b, row0 + kind.V, h, j)];
          }
          S = next;
        }
      }
  return result;
}

TEST_P(CombineTest, GivesTheStateBeforeEachSegment) {
  const auto& [kind, segments] = GetParam();
  const Shape shape{2, segments * kind.rows(), 3, kind.K}, state{2, kind.V, 3, kind.K};
  Values summaries = rounded(DType::f32, normal(shape.size(), 1));
  const Values initial = rounded(DType::f32, normal(state.size(), 2));
  for (double& x : summaries) x *= 0.8 / std::sqrt(kind.K);  // maps that neither grow nor shrink states much
  const std::string kernel =
      "combine_" + kind.text() + "_" + std::to_string(kind.strips) + (kind.backward ? "_true" : "_false");
  Launch launch{"segments", kernel, kind.strips * kind.K / 16, 160 * 1024, 2, 1, 3, {}};
  launch.segments = segments;
  launch.tensors = {Tensor::state(state).set(initial), Tensor::state(shape).set(summaries)};
  check(launch, {{1, combined(kind, summaries, initial, shape, segments), 1e-6}});
}

INSTANTIATE_TEST_SUITE_P(
    All, CombineTest,
    testing::Combine(testing::Values(Kind{"full", true, 32, 48, false}, Kind{"full_backward", true, 32, 48, true},
                                     Kind{"square", true, 64, 64, false}, Kind{"two_strips", true, 64, 64, false, 2},
                                     Kind{"three_strips", true, 96, 32, true, 3}, Kind{"wide", true, 32, 128, false, 2},
                                     Kind{"widest", true, 16, 256, true},
                                     Kind{"diagonal_strips", false, 64, 32, true, 2},
                                     Kind{"diagonal", false, 32, 48, false},
                                     Kind{"diagonal_backward", false, 32, 48, true}),
                     testing::Values(2LL, 3LL, 9LL)),
    [](const auto& chosen) {
      return std::string(std::get<0>(chosen.param).name) + "_" + std::to_string(std::get<1>(chosen.param));
    });

}  // namespace
}  // namespace wkvc::test
