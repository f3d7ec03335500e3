#include "runtime/tensor/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace wkvc {
namespace {

constexpr std::uintptr_t base = 4096;  // of memory that nothing reads

Tensor tensor_at(std::int64_t element, Extents shape, Extents strides, DType dtype = DType::f32) {
  const auto offset = static_cast<std::uintptr_t>(element) * size_of(dtype);
  return {reinterpret_cast<void*>(base + offset), dtype, shape, strides};
}

// The bytes of every element; `twice` tells whether two elements share one.
std::set<std::uintptr_t> bytes_of(const Tensor& tensor, bool* twice = nullptr) {
  std::set<std::uintptr_t> bytes;
  const std::int64_t count = element_count(tensor.shape);
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n, element = 0;
    for (std::size_t i = tensor.shape.size(); i-- > 0; rest /= tensor.shape[i]) {
      element += rest % tensor.shape[i] * tensor.strides[i];
    }
    const std::uintptr_t first = address_of(tensor) + static_cast<std::uintptr_t>(element) * size_of(tensor.dtype);
    for (std::size_t i = 0; i < size_of(tensor.dtype); ++i) bytes.insert(first + i);
  }
  if (twice != nullptr) *twice = bytes.size() < static_cast<std::size_t>(count) * size_of(tensor.dtype);
  return bytes;
}

bool share_bytes(const Tensor& a, const Tensor& b) {
  const std::set<std::uintptr_t> of_a = bytes_of(a), of_b = bytes_of(b);
  return std::ranges::any_of(of_a, [&](std::uintptr_t byte) { return of_b.contains(byte); });
}

class Random {
 public:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  // A part of a contiguous array of this shape.
  Tensor slice_of(const Extents& shape) {
    const Extents strides = contiguous_strides(shape);
    Extents part = shape;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::int64_t from = between(0, shape[i] - 1);
      part[i] = between(1, shape[i] - from);
      first += from * strides[i];
    }
    return tensor_at(first, part, strides);
  }
  Tensor tensor() {
    Extents shape, strides;
    for (int i = 0; i < 3; ++i) {
      shape.push_back(between(1, 4));
      strides.push_back(between(0, 12));
    }
    return tensor_at(between(0, 20), shape, strides, between(0, 1) == 0 ? DType::f32 : DType::bf16);
  }

 private:
  std::mt19937 engine_{1};
};

TEST(Overlap, QueriesKeysAndValuesOfOneTensorNeverMeet) {
  const Extents shape{2, 5, 4, 8}, strides{480, 96, 8, 1};  // of [2, 5, 3, 4, 8]
  EXPECT_TRUE(never_meet(tensor_at(0, shape, strides), tensor_at(32, shape, strides)));
  EXPECT_TRUE(never_meet(tensor_at(64, shape, strides), tensor_at(32, shape, strides)));
  EXPECT_FALSE(never_meet(tensor_at(64, shape, strides), tensor_at(33, shape, strides)));
  EXPECT_FALSE(never_meet(tensor_at(64, shape, strides), tensor_at(64, shape, strides)));
}

TEST(Overlap, SlicesOfRowsMayDifferInWidth) {
  const Extents strides{240, 48, 24, 1};  // of [2, 5, 2, 8 + 16]
  const Tensor narrow = tensor_at(0, {2, 5, 2, 8}, strides), wide = tensor_at(8, {2, 5, 2, 16}, strides);
  EXPECT_TRUE(never_meet(narrow, wide));
  EXPECT_TRUE(never_meet(wide, narrow));
  EXPECT_FALSE(never_meet(tensor_at(0, {2, 5, 2, 9}, strides), wide));
}

TEST(Overlap, SlicesMayDifferInDtype) {
  const Tensor first = tensor_at(0, {3, 4}, {8, 1}, DType::f32), second = tensor_at(8, {3, 8}, {16, 1}, DType::bf16);
  EXPECT_TRUE(never_meet(first, second));
  EXPECT_FALSE(never_meet(first, tensor_at(7, {3, 8}, {16, 1}, DType::bf16)));
}

// What is told of the parts of one array is all there is to tell.
TEST(Overlap, OfSlicesOfOneTensorIsExact) {
  Random random;
  int met = 0, apart = 0;
  for (int i = 0; i < 3000; ++i) {
    const Extents shape{random.between(1, 3), random.between(1, 3), random.between(1, 3), random.between(1, 4)};
    const Tensor a = random.slice_of(shape), b = random.slice_of(shape);
    const std::set<std::uintptr_t> of_a = bytes_of(a), of_b = bytes_of(b);
    const MemoryRange range_a{*of_a.begin(), *of_a.rbegin() + 1}, range_b{*of_b.begin(), *of_b.rbegin() + 1};
    const bool told_apart = !range_a.meets(range_b) || never_meet(a, b);
    ASSERT_EQ(share_bytes(a, b), !told_apart) << i;
    ++(told_apart ? apart : met);
  }
  EXPECT_GT(met, 300);
  EXPECT_GT(apart, 300);
}

TEST(Overlap, IsNeverMissed) {
  Random random;
  int apart = 0, own = 0;
  for (int i = 0; i < 3000; ++i) {
    const Tensor a = random.tensor(), b = random.tensor();
    if (never_meet(a, b)) {
      ASSERT_FALSE(share_bytes(a, b)) << i;
      ++apart;
    }
    if (!overlaps_itself(a)) {
      bool twice = false;
      bytes_of(a, &twice);
      ASSERT_FALSE(twice) << i;
      ++own;
    }
  }
  EXPECT_GT(apart, 30);
  EXPECT_GT(own, 300);
}

TEST(Overlap, WithinATensor) {
  EXPECT_FALSE(overlaps_itself(tensor_at(0, {2, 3, 4}, {12, 4, 1})));
  EXPECT_FALSE(overlaps_itself(tensor_at(0, {2, 3, 4}, {4, 8, 1})));
  EXPECT_FALSE(overlaps_itself(tensor_at(0, {2, 1, 4}, {4, 0, 1})));
  EXPECT_TRUE(overlaps_itself(tensor_at(0, {2, 3, 4}, {12, 3, 1})));
  EXPECT_TRUE(overlaps_itself(tensor_at(0, {2, 3, 4}, {4, 4, 1})));
  EXPECT_TRUE(overlaps_itself(tensor_at(0, {2, 3}, {0, 1})));
}

}  // namespace
}  // namespace wkvc
