// Whether strided arrays share memory. Internal to the runtime.
#pragma once

#include <cstdint>

#include "runtime/tensor/tensor.h"

namespace wkvc {

// From an array's first byte to past its last; nothing reaches over nothing.
struct MemoryRange {
  std::uintptr_t begin, end;

  bool meets(const MemoryRange& other) const { return begin < other.end && other.begin < end; }
};

inline std::uintptr_t address_of(const Tensor& tensor) { return reinterpret_cast<std::uintptr_t>(tensor.data); }

// Whether two elements of `tensor` share memory, as far as can be told: dimensions from the smallest stride on, each
// has to step over all that the ones before it reach. A few layouts that interleave without overlapping are taken for
// overlapping; no framework makes those. Strides are not negative.
bool overlaps_itself(const Tensor& tensor);

// Whether no byte belongs to both tensors, of which neither is empty or has negative strides. It is told from their
// places modulo one of their strides, which tells slices of one array apart, along whichever dimension they were cut:
// whatever steps by multiples of that stride stays in place, and what is left of each has to be apart. Other layouts
// that interleave without overlapping are taken for overlapping.
bool never_meet(const Tensor& a, const Tensor& b);

}  // namespace wkvc
