// A launch of the tiny kernel without the kernel, for tests to spoil.
#pragma once

#include <cstring>

#include "runtime/launch/launch_arguments.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"

namespace wkvc {

enum Index { x, s, o, initial_state, final_state };

class Launch : public ::testing::Test {
 protected:
  static constexpr LaunchSize size{2, 3, 4};

  void check() const { check_launch(LaunchPlan(manifest), tensors, given); }
  void refused(const std::vector<std::string>& parts) const {
    expect_error([&] { check(); }, parts);
  }
  TensorArg argument(Index i) const {
    const LaunchArguments arguments(LaunchPlan(manifest), tensors, given);
    TensorArg arg{};
    std::memcpy(&arg, arguments.bytes().data() + offsetof(KernelArgs<1>, tensor) + i * sizeof(TensorArg), sizeof(arg));
    return arg;
  }

  Manifest manifest = manifest_from(tiny_kernel());
  LaunchSize given = size;
  HostTensor memory_x{DType::f32, {2, 3, 4, 8}}, memory_s{DType::f32, {4, 8}}, memory_o{DType::f32, {2, 3, 4, 8}},
      memory_initial{DType::f32, {2, 4, 8, 8}}, memory_final{DType::f32, {2, 4, 8, 8}};
  std::vector<Tensor> tensors{memory_x.view(), memory_s.view(), memory_o.view(), memory_initial.view(),
                              memory_final.view()};
};

}  // namespace wkvc
