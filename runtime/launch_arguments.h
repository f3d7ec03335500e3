// Checks what a kernel is launched with and lays it out as KernelArgs (templates/wkvc/abi.h). Internal to the runtime.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/launch_size.h"
#include "runtime/manifest.h"
#include "runtime/tensor.h"
#include "templates/wkvc/abi.h"

namespace wkvc {

// KernelArgs<N> for the N of a manifest, as bytes, in place: launching does not allocate.
class LaunchArguments {
 public:
  static constexpr std::size_t max_tensors = 96;  // a kernel's parameters have 4 KB in all

  LaunchArguments(const Manifest& manifest, std::span<const Tensor> tensors, LaunchSize size);

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(&args_, 1)).first(offsetof(KernelArgs<1>, tensor) + count_ * sizeof(TensorArg));
  }

 private:
  KernelArgs<max_tensors> args_{};
  std::size_t count_;
};

// Throws UserError unless `tensors` are what the manifest says, for this size. Absent states and
// gradients of states are let through.
void check_launch(const Manifest& manifest, std::span<const Tensor> tensors, LaunchSize size);

}  // namespace wkvc
