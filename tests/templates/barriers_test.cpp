#include <gtest/gtest.h>

#include <stdexcept>

#include "check.h"

namespace wkvc::test {
namespace {

TEST(Barriers, RingOfMbarriers) {
  const Shape shape{1, 16 * 9, 1, 16};
  const Values x = rounded(DType::f32, normal(shape.size(), 1));
  Values expected(16 * 32);
  for (long long i = 0; i < shape.size(); ++i) {
    const long long row = i / 16 % 16, column = i % 16;
    expected[row * 32 + column] += x[i] + 16;  // consumers read the other producer's half
    expected[row * 32 + column + 16] += x[i];
  }
  Launch launch{"barriers", "ring", 8};
  launch.tokens = shape.rows;
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, {1, 16, 1, 32})};
  check(launch, {{1, expected, 1e-6}});
}

TEST(Barriers, StoppedRounds) {
  Values expected(2 * 256);
  for (int i = 256; i < 512; ++i) expected[i] = i % 16 >= 5;
  Launch launch{"barriers", "stopped", 2};
  launch.tensors = {Tensor(DType::f32, {1, 32, 1, 16})};
  check(launch, {{0, expected, 0}});
}

TEST(Barriers, NamedPairs) {
  const Shape shape{1, 64, 1, 16};
  const Values x = rounded(DType::f32, normal(shape.size(), 1));
  Values expected;
  for (const int warp : {1, 0, 3, 2}) expected.insert(expected.end(), &x[warp * 256], &x[warp * 256] + 256);
  Launch launch{"barriers", "named", 4};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
  check(launch, {{1, expected, 0}});
}

TEST(Barriers, SlotsOfTwoChannelsOfACluster) {
  const Shape shape{1, 16 * 11, 1, 16};
  const Values x = rounded(DType::f32, normal(shape.size(), 2));
  Values expected(2 * 256);
  for (long long i = 0; i < shape.size(); ++i) {
    const double weighted = static_cast<double>(i / 256 % 2 + 1) * x[i];
    expected[i % 256] += weighted;
    expected[256 + i % 256] += 2 * weighted;
  }
  Launch launch{"barriers", "handover", 3};
  launch.tokens = shape.rows;
  launch.cluster = 2;
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, {1, 32, 1, 16})};
  check(launch, {{1, expected, 1e-6}});
}

TEST(Barriers, FlagsOfACluster) {
  constexpr int kHeads = 5;
  Values expected;
  for (int row = 0; row < 32; ++row)
    for (int i = 0; i < 16 * kHeads; ++i) expected.push_back(i >= 16);
  Launch launch{"barriers", "flags", 2};
  launch.tokens = 32;
  launch.heads = kHeads;
  launch.cluster = 2;
  launch.tensors = {Tensor(DType::f32, {1, 32, kHeads, 16})};
  check(launch, {{0, expected, 0}});
}

std::string failure_of(const std::string& entry, int warps) {
  Launch launch{"barriers", entry, warps};
  launch.tensors = {Tensor::absent()};
  launch.stall_seconds = 0.2;
  try {
    targets().front()->run(launch);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Watchdog, ReportsDeadlocks) {
  EXPECT_EQ(failure_of("deadlock", 4), "waits at the block's barrier (block 0, warp 0)");
  EXPECT_EQ(failure_of("forgotten_arrival", 2).substr(0, 20), "waits for an mbarrie");
}

}  // namespace
}  // namespace wkvc::test
