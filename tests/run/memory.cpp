#include "tests/run/memory.h"

#include <cmath>

namespace wkvc::test {

std::size_t Layout::place(std::size_t i) const {
  std::int64_t rest = static_cast<std::int64_t>(i), place = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    place += rest % shape[d] * strides[d];
    rest /= shape[d];
  }
  return static_cast<std::size_t>(place);
}

Tensor Layout::view(Tensor memory) const {
  memory.shape = shape;
  memory.strides = strides;
  return memory;
}

Layout layout_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size, Storage storage) {
  Layout layout;
  layout.shape = layout.stored = shape_of(spec, manifest, size);
  // What kernels keep for each other is contiguous.
  const bool has_tokens = spec.dims.size() > 1 && spec.dims[1] == "T" && !is_internal(spec.role);
  if (has_tokens) layout.stored[1] += kTokensPastTail;
  const bool has_rows = has_tokens && layout.shape.size() == 4, swaps = has_rows && storage == Storage::heads_first;
  if (has_rows && storage == Storage::unaligned) ++layout.stored[3];
  if (swaps) std::swap(layout.stored[1], layout.stored[2]);
  layout.strides = contiguous_strides(layout.stored);
  if (swaps) std::swap(layout.strides[1], layout.strides[2]);
  return layout;
}

HostTensor poisoned(DType dtype, const Layout& layout) {
  HostTensor memory(dtype, layout.stored);
  memory.poison();
  return memory;
}

void write(HostTensor& memory, const Layout& layout, const std::vector<double>& values) {
  for (std::size_t i = 0; i < layout.size(); ++i) memory.set(layout.place(i), values.at(i));
}

std::vector<double> read(const HostTensor& memory, const Layout& layout) {
  std::vector<double> values(layout.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = memory.get(layout.place(i));
  return values;
}

bool written_past_tail(const HostTensor& memory, const Layout& layout) {
  std::vector<bool> inside(memory.size());
  for (std::size_t i = 0; i < layout.size(); ++i) inside[layout.place(i)] = true;
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (!inside[i] && !std::isnan(memory.get(i))) return true;
  return false;
}

}  // namespace wkvc::test
