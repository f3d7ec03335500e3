#include "runtime/launch/launch_arguments.h"

#include <cstring>

#include "runtime/error.h"

namespace wkvc {
namespace {

static_assert(sizeof(TensorArg) == 48 && offsetof(KernelArgs<1>, tensor) == 96,
              "emitted kernels and the runtime agree on this layout");

// The stride of a dimension, or 0 when there is none, or it is never stepped over and so may hold anything.
long long stride_of(const Tensor& tensor, std::optional<std::size_t> dim) {
  return dim && tensor.shape[*dim] > 1 ? tensor.strides[*dim] : 0;
}

bool rows_in_16_bytes(const PlannedTensor& planned, const Tensor& tensor, const TensorArg& arg) {
  const auto bytes = static_cast<long long>(size_of(tensor.dtype));
  const long long row_elements = planned.has_rows ? tensor.shape.back() : 1;
  const long long steps =
      (row_elements * bytes) | (arg.batch * bytes) | (arg.row * bytes) | (arg.head * bytes) | (arg.part * bytes);
  return steps % 16 == 0 && reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
}

// The place of the dimension that grows with the tokens of all sequences, of saved states or of pieces, if the tensor
// has one.
std::optional<std::size_t> counted_dim(const PlannedTensor& planned) {
  for (std::size_t i = 0; i < planned.dims.size(); ++i) {
    if (planned.dims[i].of == Dimension::Of::saved || planned.dims[i].of == Dimension::Of::segments) return i;
  }
  return std::nullopt;
}

// Tokens for each of them.
std::int64_t tokens_of(const Dimension& counted, const LaunchSize& size) {
  return counted.of == Dimension::Of::segments ? piece_of(size, counted.each) : counted.each;
}

TensorArg argument_for(const PlannedTensor& planned, const Tensor& tensor, const LaunchSize& size) {
  TensorArg arg{};
  if (tensor.data == nullptr) return arg;
  arg.data = tensor.data;
  arg.batch = stride_of(tensor, planned.batch);
  arg.row = stride_of(tensor, planned.row);
  arg.head = stride_of(tensor, planned.head);
  if (planned.is_whole) {
    arg.flags |= kWhole;
    arg.part = planned.counted_values * stride_of(tensor, planned.values);
  }
  if (rows_in_16_bytes(planned, tensor, arg)) arg.flags |= kVector16;
  if (size.slots && planned.is_state) arg.flags |= kInSlots;
  if (size.group() > 1 && planned.is_shared) arg.flags |= kShared;
  if (const auto counted = counted_dim(planned); size.map && counted) {
    arg.batch = tensor.strides[*counted];
    arg.flags += tokens_of(planned.dims[*counted], size) * kSavedEvery;
  }
  return arg;
}

}  // namespace

LaunchArguments::LaunchArguments(const LaunchPlan& plan, std::span<const Tensor> tensors, LaunchSize size,
                                 std::span<const std::size_t> places)
    : count_(plan.tensors.size()) {
  if (count_ > max_tensors) internal_error("a kernel of {} tensors, at most {} fit", count_, max_tensors);
  args_.batches = size.sequences();
  args_.tokens = size.tokens;
  args_.heads = size.heads * plan.heads;
  args_.vector16 = 1;
  in_pieces_ = size.map && plan.cut > 1 && plan.blocks.segments > 1;
  args_.segments = in_pieces_ ? most_pieces(size, plan.cut) : plan.blocks.segments;
  args_.piece = size.map && plan.cut > 1 ? piece_of(size, plan.cut) : 0;
  args_.starts = size.map ? SequenceStarts{size.map->starts, size.map->wide ? 1 : 0} : SequenceStarts{};
  args_.slots = size.slots ? StateSlots{size.slots->slots, size.slots->count} : StateSlots{};
  args_.report = size.report;
  args_.group = size.group();
  for (std::size_t i = 0; i < count_; ++i) {
    args_.tensor[i] = argument_for(plan.tensors[i], tensors[places.empty() ? i : places[i]], size);
    if (plan.tensors[i].moves_in_pieces) args_.vector16 &= args_.tensor[i].flags & kVector16;
  }
}

bool moves_in_pieces(std::span<const std::byte> arguments) {
  long long vector16 = 0;
  std::memcpy(&vector16, arguments.data() + offsetof(KernelArgs<1>, vector16), sizeof vector16);
  return vector16 != 0;
}

bool maps_sequences(std::span<const std::byte> arguments) {
  SequenceStarts starts{};
  StateSlots slots{};
  std::memcpy(&starts, arguments.data() + offsetof(KernelArgs<1>, starts), sizeof starts);
  std::memcpy(&slots, arguments.data() + offsetof(KernelArgs<1>, slots), sizeof slots);
  long long group = 1;
  std::memcpy(&group, arguments.data() + offsetof(KernelArgs<1>, group), sizeof group);
  return starts.data != nullptr || slots.data != nullptr || group > 1;
}

}  // namespace wkvc
