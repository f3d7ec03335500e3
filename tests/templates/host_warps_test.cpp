#include <gtest/gtest.h>

#include <stdexcept>

#include "check.h"

namespace wkvc::test {
namespace {

constexpr int kHeads = 5;  // a cluster each

const Target& host() { return *targets().front(); }

Launch on_heads(const std::string& entry, long long threads) {
  Launch launch{"host_warps", entry, 2};
  launch.heads = kHeads;
  launch.threads = threads;
  return launch;
}

TEST(HostWarps, HaveCopiesOfTheirOwn) {
  for (const long long threads : {0, 1, 2, 5, 100}) {
    Launch launch = on_heads("own_copies", threads);
    const Shape shape{1, 2, kHeads, 16};
    launch.tensors = {Tensor(DType::f32, shape).set(normal(shape.size(), 1)), Tensor(DType::f32, shape)};
    host().run(launch);
    const Values seen = launch.tensors[1].values();
    for (int head = 0; head < kHeads; ++head) {
      EXPECT_EQ(seen[head * 16], 0) << threads << " threads, head " << head;
      EXPECT_EQ(seen[(kHeads + head) * 16], 1) << threads << " threads, head " << head;
    }
  }
}

TEST(HostWarps, HaveTheStacksOfThreads) {
  Launch launch = on_heads("large_frames", 0);
  launch.tensors = {Tensor(DType::f32, {1, 1, kHeads, 16})};
  host().run(launch);
  for (int head = 0; head < kHeads; ++head) EXPECT_EQ(launch.tensors[0].values()[head * 16], 1);
}

// Whichever block is the first to fail.
TEST(HostWarps, TheFirstBlockThatFailsIsReported) {
  for (const long long threads : {0, 1, 2, 5, 100}) {
    Launch launch = on_heads("late_deadlock", threads);
    launch.tensors = {Tensor::absent()};
    launch.stall_seconds = 0.2;
    try {
      host().run(launch);
      ADD_FAILURE() << threads << " threads";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "waits at the block's barrier (block 1, warp 1)") << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace wkvc::test
