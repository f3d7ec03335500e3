// What serving takes: stored states, inputs on their way, heads that share one.
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <string>

#include "check.h"

namespace wkvc::test {
namespace {

struct Storage {
  const char* name;
  DType dtype;
};
constexpr Storage kStorages[] = {{"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}};

Values doubled(const Values& x) {
  Values twice;
  for (const double value : x) twice.push_back(2 * value);
  return twice;
}

// Kernels `kernel`_<storage>_<order><ending>.
void expect_doubled(const std::string& kernel, const std::string& ending, long long keys) {
  for (const auto& [name, dtype] : kStorages) {
    for (const auto& [order, shape] : {std::pair{"vk", Shape{2, 32, 3, keys}}, {"kv", Shape{2, keys, 3, 32}}}) {
      for (const int padding : {0, 3, 8}) {
        const Values x = rounded(dtype, normal(shape.size(), 1));
        std::string entry = kernel;
        entry.append("_").append(name).append("_").append(order).append(ending);
        Launch launch{"serving", entry, 2, 1024, 2, 0, 3, {}};
        launch.tensors = {Tensor(dtype, shape, padding).set(x), Tensor(dtype, shape, padding)};
        check(launch, {{1, doubled(x), 0}});
      }
    }
  }
}

TEST(StoredStates, LoadDoubleStore) { expect_doubled("stored_states", "", 48); }

TEST(StoredStates, OfSingleTokens) {
  for (const int keys : {16, 48, 96, 128}) expect_doubled("token_states", "_" + std::to_string(keys), keys);
}

// Of a token: S·k, k·k, and the sum of v·kᵀ that is added to S.
struct TokenProducts {
  Values of_state, squares, sum;
};

TokenProducts token_products(const Values& s, const Values& v, const Values& k, const Shape& of_v, const Shape& of_k) {
  TokenProducts found{{}, {}, s};
  const auto size = [](long long n) { return static_cast<std::size_t>(n); };
  const std::size_t keys = size(of_k.columns), values = size(of_v.columns), heads = size(of_k.heads);
  for (std::size_t row = 0; row < k.size() / keys; ++row) {  // of a batch, a token and a head
    const std::size_t batch = row / heads / size(of_k.rows), head = row % heads;
    const double* const own_k = &k[row * keys];
    for (std::size_t i = 0; i < values; ++i) {
      double product = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        const std::size_t at = ((batch * values + i) * heads + head) * keys + j;
        product += s[at] * own_k[j];
        found.sum[at] += v[row * values + i] * own_k[j];
      }
      found.of_state.push_back(product);
    }
    found.squares.push_back(std::inner_product(own_k, own_k + keys, own_k, 0.0));
  }
  return found;
}

TEST(SingleTokens, Products) {
  for (const int keys : {16, 64, 96}) {
    const Shape of_v{2, 3, 2, 32}, of_k{2, 3, 2, keys}, of_s{2, 32, 2, keys}, numbers{2, 3, 2, 1};
    const auto drawn = [](const Shape& shape, int seed) { return rounded(DType::f32, normal(shape.size(), seed)); };
    const Values v = drawn(of_v, 1), k = drawn(of_k, 2);
    const Values s = drawn(of_s, 3);
    const TokenProducts expected = token_products(s, v, k, of_v, of_k);
    Launch launch{"serving", "token_products_" + std::to_string(keys), 2, 1024, 2, of_v.rows, 2, {}};
    launch.tensors = {Tensor(DType::f32, of_s).set(s), Tensor(DType::f32, of_v).set(v), Tensor(DType::f32, of_k).set(k),
                      Tensor(DType::f32, of_v),        Tensor(DType::f32, numbers),     Tensor(DType::f32, of_s)};
    check(launch, {{3, expected.of_state, 1e-6}, {4, expected.squares, 1e-6}, {5, expected.sum, 1e-6}});
  }
}

TEST(Fetched, HaveTheElementsOfTheToken) {
  for (const auto& [name, dtype, columns] : {std::tuple{"f32_64", DType::f32, 64},
                                             {"f16_16", DType::f16, 16},
                                             {"f16_128", DType::f16, 128},
                                             {"bf16_48", DType::bf16, 48},
                                             {"bf16_80", DType::bf16, 80}}) {
    const Shape shape{2, 5, 3, columns};
    const Values x = rounded(dtype, normal(shape.size(), 1));
    Values expected;
    for (const double value : x) expected.push_back(7 * value);
    Launch launch{"serving", std::string("fetched_") + name, 1, 1024, 2, shape.rows, 3, {}};
    launch.tensors = {Tensor(dtype, shape).set(x), Tensor(DType::f32, shape)};
    check(launch, {{1, expected, dtype == DType::f32 ? 1e-7 : 0}});
  }
}

TEST(Fetched, OverRowsToo) {
  for (const auto& [name, dtype] : {Storage{"f32", DType::f32}, {"bf16", DType::bf16}}) {
    for (const int padding : {0, 3}) {
      const Shape shape{2, 5, 3, 32};
      const Values x = rounded(dtype, normal(shape.size(), 1));
      Launch launch{"serving", std::string("fetched_column_") + name, 2, 1024, 2, shape.rows, 3, {}};
      launch.tensors = {Tensor(dtype, shape, padding).set(x), Tensor(dtype, shape, padding)};
      check(launch, {{1, doubled(x), 0}});
    }
  }
}

// Of `rows` numbers, the sum over heads in head 0, and what the others held.
Values summed(const Values& x, const Shape& shape, double before) {
  Values sums(x.size(), before);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t of_token = static_cast<std::size_t>(shape.heads * shape.columns), in_token = i % of_token;
    double& sum = sums[i - in_token + in_token % static_cast<std::size_t>(shape.columns)];
    if (in_token < static_cast<std::size_t>(shape.columns)) sum = 0;
    sum += x[i];
  }
  return sums;
}

// One chunk of tokens is for the first warp of a group's first block; the others have nothing to do.
TEST(SharedHeads, AreSummedWithTails) {
  for (const auto& [name, dtype] : {Storage{"f32", DType::f32}, {"bf16", DType::bf16}}) {
    for (const long long tokens : {1, 13, 16}) {
      const Shape shape{2, tokens, 3, 80}, numbers{2, tokens, 3, 1};
      const Values x = rounded(DType::f32, normal(shape.size(), 1)), y = rounded(DType::f32, normal(numbers.size(), 2));
      Launch launch{"serving", std::string("head_sums_") + name, 2, 1024, 2, tokens, 3, {}};
      launch.group = 3;
      launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(dtype, shape).set(Values(x.size(), -1)),
                        Tensor(DType::f32, numbers).set(y), Tensor(dtype, numbers).set(Values(y.size(), -1))};
      const double error = dtype == DType::f32 ? 1e-6 : 2.5e-3;
      check(launch, {{1, summed(x, shape, -1), error}, {3, summed(y, numbers, -1), error}});
    }
  }
}

TEST(SharedHeads, OfManyTokens) {
  const Shape shape{1, 150, 2, 80}, numbers{1, 150, 2, 1};
  const Values x = rounded(DType::f32, normal(shape.size(), 1)), y = rounded(DType::f32, normal(numbers.size(), 2));
  Launch launch{"serving", "head_sums_f32", 2, 1024, 1, shape.rows, 2, {}};
  launch.segments = 3;
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape), Tensor(DType::f32, numbers).set(y),
                    Tensor(DType::f32, numbers)};
  check(launch, {{1, x, 0}, {3, y, 0}});
}

}  // namespace
}  // namespace wkvc::test
