// States that are kept in f16, whatever their size.
#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

const Shape shape{1, 16, 1, 64};

Launch launch_of(const Values& x) {
  Launch launch{"kept_state", "kept_state", 1, 0x1000};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f16, shape)};
  for (int n = 0; n < 3; ++n) launch.tensors.push_back(Tensor(DType::f32, shape));
  return launch;
}

TEST(KeptStates, OfOrdinarySizeAreRounded) {
  for (const double size : {0., 1e-3, 1., 1e4}) {
    const Values x = times(uniform(shape.size(), -1, 1, 1), size), kept = rounded(DType::f16, x);
    check(launch_of(x), {{2, kept, 0}, {3, kept, 0}, {4, kept, 0}});
  }
}

// States of any size have f16's digits.
TEST(KeptStates, OfAnySizeKeepTheirDigits) {
  for (const double size : {1e-37, 1e-20, 1e-7, 1e-5, 7e4, 1e6, 1e20, 3e38}) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      const Values x = times(uniform(shape.size(), -1, 1, seed), size);
      check(launch_of(x), {{3, x, 4e-4}, {4, x, 4e-4}});
    }
    Values small_first = times(uniform(shape.size(), -1, 1, 4), size);
    small_first[0] = 0;
    check(launch_of(small_first), {{3, small_first, 4e-4}});
    check_elements(launch_of(Values(shape.size(), size)), 3, Values(shape.size(), size), 1.5e-3);
  }
}

// A reader that takes such states as they are finds out.
TEST(KeptStates, ThatF16DoesNotHoldAreNotFiniteAsTheyAre) {
  for (const Target* target : targets()) {
    Launch launch = launch_of(Values(shape.size(), 1e6));
    target->run(launch);
    EXPECT_FALSE(std::isfinite(launch.tensors[2].values()[0]));
  }
}

}  // namespace
}  // namespace wkvc::test
