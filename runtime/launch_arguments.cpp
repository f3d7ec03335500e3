#include "runtime/launch_arguments.h"

#include <algorithm>

#include "runtime/error.h"
#include "runtime/layout.h"

namespace wkvc {
namespace {

static_assert(sizeof(TensorArg) == 40 && offsetof(KernelArgs<1>, tensor) == 32,
              "emitted kernels and the runtime agree on this layout");

// The stride of a dimension, or 0 when it is never stepped over and so may hold anything.
long long stride_of(const Tensor& tensor, std::size_t dim) { return tensor.shape[dim] > 1 ? tensor.strides[dim] : 0; }

bool rows_in_16_bytes(const TensorSpec& spec, const Tensor& tensor, const TensorArg& arg) {
  const auto bytes = static_cast<long long>(size_of(tensor.dtype));
  const long long row_elements = has_rows(spec) ? tensor.shape.back() : 1;
  const long long steps = (row_elements * bytes) | (arg.batch * bytes) | (arg.row * bytes) | (arg.head * bytes);
  return steps % 16 == 0 && reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
}

// Rows of tokens: states look at their own flag, and numbers are read one by one.
bool moves_in_pieces(const TensorSpec& spec) {
  return has_rows(spec) && std::find(spec.dims.begin(), spec.dims.end(), "T") != spec.dims.end();
}

TensorArg argument_for(const TensorSpec& spec, const Tensor& tensor) {
  TensorArg arg{};
  if (tensor.data == nullptr) return arg;
  arg.data = tensor.data;
  const std::size_t outer = spec.dims.size() - (has_rows(spec) ? 1 : 0);
  for (std::size_t dim = 0; dim < outer; ++dim) {
    const long long stride = stride_of(tensor, dim);
    if (spec.dims[dim] == "B") {
      arg.batch = stride;
    } else if (spec.dims[dim] == "H") {
      arg.head = stride;
    } else {
      arg.row = stride;  // T, or the innermost rows: of a state, of several behind each other
    }
  }
  arg.vector16 = rows_in_16_bytes(spec, tensor, arg) ? 1 : 0;
  return arg;
}

}  // namespace

LaunchArguments::LaunchArguments(const Manifest& manifest, std::span<const Tensor> tensors, LaunchSize size)
    : count_(tensors.size()) {
  if (count_ > max_tensors) internal_error("a kernel of {} tensors, at most {} fit", count_, max_tensors);
  args_.batches = size.batches;
  args_.tokens = size.tokens;
  args_.heads = size.heads;
  args_.vector16 = 1;
  for (std::size_t i = 0; i < count_; ++i) {
    args_.tensor[i] = argument_for(manifest.tensors[i], tensors[i]);
    if (moves_in_pieces(manifest.tensors[i])) args_.vector16 &= args_.tensor[i].vector16;
  }
}

}  // namespace wkvc
