#include "runtime/tensor/tensor.h"

#include <cmath>
#include <limits>

#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 2;

TEST(HostTensors, StartAsZerosAndAreContiguous) {
  HostTensor tensor(DType::bf16, {2, 3, 4});
  EXPECT_EQ(tensor.size(), 24U);
  EXPECT_EQ(tensor.bytes().size(), 48U);
  EXPECT_EQ(tensor.view().strides, (std::vector<std::int64_t>{12, 4, 1}));
  for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_EQ(tensor.get(i), 0.0);
}

TEST(HostTensors, PoisonIsNanInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    HostTensor tensor(dtype, {5});
    tensor.poison();
    for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_TRUE(std::isnan(tensor.get(i)));
  }
}

TEST(HostTensors, RefuseShapesThatCannotBe) {
  expect_error([] { HostTensor(DType::f32, {2, -1}); }, {"[2, -1]", "negative"});
  expect_error([] { HostTensor(DType::f32, {huge, 4}); }, {"more elements"});
  expect_error([] { HostTensor(DType::f32, {huge, 2}); }, {"more bytes"});
  expect_error([] { HostTensor(DType::f32, {0, huge, huge}); }, {"more elements"});
}

TEST(HostTensors, MayBeEmpty) {
  HostTensor tensor(DType::f32, {0, 4});
  EXPECT_EQ(tensor.size(), 0U);
  EXPECT_EQ(tensor.view().strides, (std::vector<std::int64_t>{4, 1}));
}

TEST(HostTensors, OfManyDimensionsHaveNoView) {
  HostTensor tensor(DType::f32, {1, 1, 1, 1, 1, 1, 2});
  EXPECT_EQ(tensor.size(), 2U);
  expect_error([&] { tensor.view(); }, {"7 dimensions", "at most 6"});
}

TEST(Extents, AreLikeVectorsOfAFewNumbers) {
  Extents extents{2, 3};
  extents.push_back(4);
  extents[0] = 5;
  EXPECT_EQ(extents, (Extents{5, 3, 4}));
  EXPECT_EQ(extents, (std::vector<std::int64_t>{5, 3, 4}));
  EXPECT_NE(extents, (std::vector<std::int64_t>{5, 3, 4, 1}));
  EXPECT_NE(extents, (Extents{5, 3, 1}));
  EXPECT_EQ(extents.back(), 4);
  extents.pop_back();
  const std::vector<std::int64_t> copied = extents;
  EXPECT_EQ(copied, (std::vector<std::int64_t>{5, 3}));
  EXPECT_EQ(Extents(copied), extents);
  EXPECT_TRUE(Extents{}.empty());
}

TEST(Extents, HoldSix) {
  Extents extents{1, 2, 3, 4, 5, 6};
  expect_error([&] { extents.push_back(7); }, {"7 dimensions", "at most 6"});
  expect_error([&] { Extents(std::vector<std::int64_t>(9)); }, {"9 dimensions"});
  EXPECT_EQ(extents.size(), 6U);
}

}  // namespace
}  // namespace wkvc
