// What tests on a GPU begin with.
#pragma once

#include <gtest/gtest.h>

#include "runtime/cuda/device_tensor.h"
#include "runtime/launch/kernel.h"
#include "runtime/nvrtc/nvrtc.h"
#include "tests/runtime/tiny_kernel.h"

namespace wkvc {

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!cuda_available(&why_not)) GTEST_SKIP() << "no GPU: " << why_not;
    if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  }
};

inline HostTensor counted(std::vector<std::int64_t> shape, double step) {
  HostTensor tensor(DType::f32, std::move(shape));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, step * static_cast<double>(i));
  return tensor;
}

// The tiny kernel's tensors on the GPU; results start poisoned.
struct Problem {
  Problem(const Device& device, LaunchSize given, StreamHandle stream)
      : size(given),
        host_x(counted({size.batches, size.tokens, size.heads, 8}, 1)),
        host_s(counted({size.heads, 8}, 1000)),
        host_initial(counted({size.batches, size.heads, 8, 8}, 0.5)),
        x(DeviceTensor::upload(device, host_x)),
        s(DeviceTensor::upload(device, host_s)),
        initial(DeviceTensor::upload(device, host_initial)),
        o(device, DType::f32, host_x.shape()),
        last(device, DType::f32, host_initial.shape()) {
    o.poison(stream);
    last.poison(stream);
  }
  std::vector<Tensor> tensors() const { return {x.view(), s.view(), o.view(), initial.view(), last.view()}; }

  LaunchSize size;
  HostTensor host_x, host_s, host_initial;
  DeviceTensor x, s, initial, o, last;
};

}  // namespace wkvc
