// What serving takes: stored states, inputs on their way, heads that share one.
#include <gtest/gtest.h>

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

TEST(StoredStates, LoadDoubleStore) {
  for (const auto& [name, dtype] : kStorages) {
    for (const auto& [order, shape] : {std::pair{"vk", Shape{2, 32, 3, 48}}, {"kv", Shape{2, 48, 3, 32}}}) {
      for (const int padding : {0, 3, 8}) {
        const Values x = rounded(dtype, normal(shape.size(), 1));
        Launch launch{"serving", std::string("stored_states_") + name + "_" + order, 2, 1024, 2, 0, 3, {}};
        launch.tensors = {Tensor(dtype, shape, padding).set(x), Tensor(dtype, shape, padding)};
        check(launch, {{1, doubled(x), 0}});
      }
    }
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
    for (const double value : x) expected.push_back(15 * value);
    Launch launch{"serving", std::string("fetched_") + name, 1, 1024, 2, shape.rows, 3, {}};
    launch.tensors = {Tensor(dtype, shape).set(x), Tensor(DType::f32, shape)};
    check(launch, {{1, expected, dtype == DType::f32 ? 1e-7 : 0}});
  }
}

TEST(Fetched, InColumnsToo) {
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
