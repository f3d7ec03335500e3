#include "runtime/tensor.h"

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

}  // namespace
}  // namespace wkvc
