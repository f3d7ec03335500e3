// What a kernel is launched with, checked and laid out as KernelArgs (templates/wkvc/abi.h). Internal to the runtime.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/launch/launch_plan.h"
#include "runtime/tensor/tensor.h"
#include "templates/wkvc/abi.h"

namespace wkvc {

// KernelArgs<N> for the N of a plan, as bytes, in place: launching does not allocate.
class LaunchArguments {
 public:
  static constexpr std::size_t max_tensors = 80;  // a kernel's parameters have 4 KB in all

  // `tensors` are the plan's, or with `places` a larger set in which its i-th is the one at places[i].
  LaunchArguments(const LaunchPlan& plan, std::span<const Tensor> tensors, LaunchSize size,
                  std::span<const std::size_t> places = {});

  // Blocks, or clusters of them, for each head: one for each sequence and segment, or for each piece.
  std::int64_t blocks_of_head() const { return (in_pieces_ ? 1 : args_.batches) * args_.segments; }

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(&args_, 1)).first(offsetof(KernelArgs<1>, tensor) + count_ * sizeof(TensorArg));
  }

 private:
  KernelArgs<max_tensors> args_;  // written as far as there are tensors
  std::size_t count_;
  bool in_pieces_;
};

// Whether kernels may move what these arguments are of in pieces of 16 bytes: data, rows and strides of all tensors
// with tokens are multiples of that.
bool moves_in_pieces(std::span<const std::byte> arguments);

// True for arguments that say where sequences begin, in which slots their states are, or which heads share one.
bool maps_sequences(std::span<const std::byte> arguments);

// Throws UserError unless `tensors` are what the plan says, for this size, and what is written has memory of its own.
// Absent states and gradients of states are let through.
void check_launch(const LaunchPlan& plan, std::span<const Tensor> tensors, LaunchSize size);

}  // namespace wkvc
