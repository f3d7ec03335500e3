#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "runtime/error.h"
#include "runtime/launch/launch_arguments.h"
#include "runtime/manifest/layout.h"
#include "runtime/tensor/checked.h"
#include "runtime/tensor/overlap.h"

namespace wkvc {
namespace {

constexpr MemoryRange no_memory{0, 0};

// `bytes` is a power of two.
bool is_aligned(const Tensor& tensor, std::size_t bytes) { return (address_of(tensor) & (bytes - 1)) == 0; }

void check_shape(const TensorSpec& spec, const Tensor& tensor, const Extents& expected) {
  if (tensor.shape != expected) {
    user_error("tensor \"{}\" has shape {}, expected [{}] = {}", spec.name, shape_text(tensor.shape),
               fmt::join(spec.dims, ", "), shape_text(expected));
  }
  if (tensor.strides.size() != tensor.shape.size()) {
    user_error("tensor \"{}\" has {} strides, expected one for each of its {} dimensions", spec.name,
               tensor.strides.size(), tensor.shape.size());
  }
}

// Kernels find the rest of such tensors from the strides of their rows.
void check_contiguous(const TensorSpec& spec, const Tensor& tensor) {
  const Extents expected = contiguous_strides(tensor.shape);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (tensor.shape[i] <= 1 || tensor.strides[i] == expected[i]) continue;
    user_error("tensor \"{}\" has strides {}, expected {}: a {} tensor has to be contiguous", spec.name,
               shape_text(tensor.strides), shape_text(expected), name_of(spec.role));
  }
}

// The bytes from the tensor's first to past its last, of one that is not empty.
std::int64_t check_reach(const TensorSpec& spec, const Tensor& tensor) {
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype));
  CheckedInt reach = element;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] <= 1) continue;  // the stride of a single element is never used
    if (tensor.strides[i] < 0) {
      user_error("tensor \"{}\" has strides {}: negative strides are not supported, copy it", spec.name,
                 shape_text(tensor.strides));
    }
    reach = checked_add(reach, checked_mul(checked_mul(tensor.shape[i] - 1, tensor.strides[i]), element));
  }
  const std::uint64_t behind = std::numeric_limits<std::uintptr_t>::max() - address_of(tensor);
  if (!reach || static_cast<std::uint64_t>(*reach) > behind) {
    user_error("tensor \"{}\" with shape {} and strides {} reaches beyond 63 bits of memory", spec.name,
               shape_text(tensor.shape), shape_text(tensor.strides));
  }
  return *reach;
}

void check_strides(const PlannedTensor& planned, const Tensor& tensor) {
  const TensorSpec& spec = planned.spec;
  if (planned.keeps_for_kernels || spec.role == Role::intermediate_states) check_contiguous(spec, tensor);
  if (planned.has_rows && tensor.shape.back() > 1 && tensor.strides.back() != 1) {
    user_error("tensor \"{}\" has strides {}: its last dimension has to be contiguous (stride 1), copy it", spec.name,
               shape_text(tensor.strides));
  }
  for (std::size_t i = 0; i < planned.dims.size(); ++i) {
    if (i == planned.batch || i == planned.head || planned.dims[i].of == Dimension::Of::intermediate) continue;
    if (tensor.shape[i] <= 1 || tensor.strides[i] < row_distance_limit) continue;
    user_error("tensor \"{}\" has strides {}: neighbouring rows ({}) are at most {} elements apart, copy it", spec.name,
               shape_text(tensor.strides), spec.dims[i], row_distance_limit - 1);
  }
}

// Before anything else, which nobody filled in for a tensor that is left out. One without elements has no memory.
void check_given(const TensorSpec& spec, const Tensor& tensor, const Extents& expected) {
  if (tensor.data != nullptr || (!tensor.shape.empty() && element_count(expected) == 0)) return;
  user_error("tensor \"{}\" is null: only states and gradients of states can be left out", spec.name);
}

void check_pointer(const TensorSpec& spec, const Tensor& tensor) {
  if (!is_aligned(tensor, size_of(tensor.dtype))) {
    user_error("tensor \"{}\" begins at {}, which is not aligned to its {}-byte elements", spec.name,
               fmt::ptr(tensor.data), size_of(tensor.dtype));
  }
}

// Kernels move what they keep for each other in pieces of 16 bytes.
void check_alignment(const PlannedTensor& planned, const Tensor& tensor) {
  if (!planned.keeps_for_kernels || is_aligned(tensor, 16)) return;
  user_error("tensor \"{}\" begins at {}, which is not a multiple of 16 bytes: a {} tensor has to be aligned",
             planned.spec.name, fmt::ptr(tensor.data), name_of(planned.spec.role));
}

void check_own_memory(const PlannedTensor& planned, const Tensor& tensor) {
  if (!planned.is_written || !overlaps_itself(tensor)) return;
  user_error("tensor \"{}\" is written, but with shape {} and strides {} elements share memory: pass one of its own",
             planned.spec.name, shape_text(tensor.shape), shape_text(tensor.strides));
}

// What the tensor reaches over.
MemoryRange check_tensor(const PlannedTensor& planned, const Tensor& tensor, LaunchSize size) {
  const TensorSpec& spec = planned.spec;
  if (tensor.data == nullptr && planned.may_be_absent) return no_memory;
  Extents expected;
  for (const Dimension& dim : planned.dims) expected.push_back(dim.length(size));
  check_given(spec, tensor, expected);
  if (tensor.dtype != spec.dtype) {
    user_error("tensor \"{}\" is {}, but the kernel was compiled for {}: convert it, or compile for {}", spec.name,
               name_of(tensor.dtype), name_of(spec.dtype), name_of(tensor.dtype));
  }
  check_shape(spec, tensor, expected);
  if (element_count(tensor.shape) == 0) return no_memory;
  const std::int64_t reach = check_reach(spec, tensor);
  check_strides(planned, tensor);
  check_pointer(spec, tensor);
  check_alignment(planned, tensor);
  check_own_memory(planned, tensor);
  return {address_of(tensor), address_of(tensor) + static_cast<std::uintptr_t>(reach)};
}

// A state may be updated in place: each block reads its own before it writes it.
bool in_place_state(const PlannedTensor& a, const PlannedTensor& b, const Tensor& ta, const Tensor& tb) {
  if (!a.is_state || !b.is_state || a.spec.role == b.spec.role || ta.data != tb.data) return false;
  for (std::size_t i = 0; i < ta.shape.size(); ++i) {
    if (ta.shape[i] > 1 && ta.strides[i] != tb.strides[i]) return false;
  }
  return true;
}

void check_pair(const PlannedTensor& written, const PlannedTensor& other, const Tensor& a, const Tensor& b) {
  if (in_place_state(written, other, a, b) || never_meet(a, b)) return;
  user_error("tensors \"{}\" and \"{}\" {}, and the first is written: pass it memory of its own", written.spec.name,
             other.spec.name, a.data == b.data ? "begin at the same address" : "overlap in memory");
}

// Every pair once of which one is written; `ranges` are what the tensors reach over.
void check_sharing(const LaunchPlan& plan, std::span<const Tensor> tensors, std::span<const MemoryRange> ranges) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!plan.tensors[i].is_written) continue;
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      if (i == j || !ranges[i].meets(ranges[j]) || (j < i && plan.tensors[j].is_written)) continue;
      check_pair(plan.tensors[i], plan.tensors[j], tensors[i], tensors[j]);
    }
  }
}

void check_starts(const SequenceMap& map) {
  const std::uintptr_t bytes = map.wide ? 8 : 4, address = reinterpret_cast<std::uintptr_t>(map.starts);
  if (map.starts == nullptr) user_error("the map of sequences is null: expected {} starts", map.count + 1);
  if (address % bytes == 0) return;
  user_error("the map of sequences begins at {}, which is not aligned to its {}-byte numbers", fmt::ptr(map.starts),
             bytes);
}

void check_slots(const LaunchPlan& plan, std::span<const Tensor> tensors, const LaunchSize& size) {
  const SlotMap& map = *size.slots;
  if (map.slots == nullptr) user_error("the slots of states are null: expected a number for each sequence");
  if (reinterpret_cast<std::uintptr_t>(map.slots) % 4 != 0) {
    user_error("the slots of states begin at {}, which is not aligned to their 4-byte numbers", fmt::ptr(map.slots));
  }
  for (const PlannedTensor& planned : plan.tensors) {
    if (planned.spec.role == Role::output_gradient) {
      user_error("states in slots are for a forward pass: a backward pass takes the states of its sequences in order");
    }
  }
  if (size.tokens > 0) return;
  const void* initial = nullptr;
  const void* final = nullptr;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (plan.tensors[i].spec.role == Role::initial_state) initial = tensors[i].data;
    if (plan.tensors[i].spec.role == Role::final_state) final = tensors[i].data;
  }
  if (final == nullptr || initial == final) return;
  user_error("T = 0 with states in slots: expected one memory for initial and final states, or at least one token");
}

void check_shared(const LaunchPlan& plan, const LaunchSize& size) {
  if (size.group() <= 1 || plan.has_shared()) return;
  user_error("S = {} of H = {} heads are shared, but no input of these kernels is: prepare them with --shared NAMES",
             size.shared_heads, size.heads);
}

void check_pieces(const LaunchPlan& plan, const LaunchSize& size) {
  if (!size.map || plan.cut == 1) return;
  const std::int64_t piece = piece_of(size, plan.cut);
  if (piece % plan.unit == 0) return;
  user_error(
      "sequences are cut into pieces of {} tokens, expected a multiple of {}, the tokens of a chunk or between "
      "saved states: choose another piece, --save-every a divisor of {}, or --segments 1",
      piece, plan.unit, kPieceTokens);
}

void check_report(const LaunchSize& size) {
  if (reinterpret_cast<std::uintptr_t>(size.report) % alignof(SequenceReport) == 0) return;
  user_error("the report on sequences begins at {}, which is not aligned to its 4-byte words", fmt::ptr(size.report));
}

void check_count(const LaunchPlan& plan, std::size_t count) {
  if (count == plan.tensors.size()) return;
  std::vector<std::string> names;
  for (const PlannedTensor& planned : plan.tensors) names.push_back(planned.spec.name);
  user_error("{} tensors were given, expected {}: {}", count, names.size(), fmt::join(names, ", "));
}

}  // namespace

void check_launch(const LaunchPlan& plan, std::span<const Tensor> tensors, LaunchSize size) {
  check_size(size, plan.blocks);
  if (size.map) check_starts(*size.map);
  check_pieces(plan, size);
  check_shared(plan, size);
  check_report(size);
  check_count(plan, tensors.size());
  std::array<MemoryRange, LaunchPlan::max_tensors> ranges;
  for (std::size_t i = 0; i < tensors.size(); ++i) ranges[i] = check_tensor(plan.tensors[i], tensors[i], size);
  if (size.slots) check_slots(plan, tensors, size);
  check_sharing(plan, tensors, std::span(ranges).first(tensors.size()));
}

}  // namespace wkvc
