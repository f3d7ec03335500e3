// Tensors with more tokens in memory than a launch has: what lies past the tail is there, and is NaN.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/launch_size.h"
#include "runtime/safetensors.h"

namespace wkvc::test {

inline constexpr std::int64_t kTokensPastTail = 32;

// The launch whose tensors are what is in memory.
LaunchSize padded(LaunchSize size);

inline bool is_written(const TensorSpec& spec) { return spec.role == Role::output || spec.role == Role::final_state; }

// What a launch of `size` is given: views of the tensors in memory, in the manifest's order.
std::vector<Tensor> views_of(TensorMap& memory, const Manifest& manifest, LaunchSize size);

}  // namespace wkvc::test
