// Tensors in memory with more tokens than a launch has: what lies past the tail is there, and is NaN.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/launch/launch_size.h"
#include "runtime/tensor/safetensors.h"

namespace wkvc::test {

inline constexpr std::int64_t kTokensPastTail = 32;

// Of tensors [B,T,H,D]: as they are, as [B,H,T,D], or in rows of D + 1, of which few begin at a multiple of 16 bytes.
enum class Storage { tokens_first, heads_first, unaligned };

// Where the elements of a launch's tensor lie.
struct Layout {
  Extents shape;    // what the launch sees
  Extents strides;  // of its dimensions in memory
  Extents stored;   // what is in memory

  std::size_t size() const { return static_cast<std::size_t>(element_count(shape)); }
  std::size_t place(std::size_t i) const;  // of element i
  Tensor view(Tensor memory) const;
};

Layout layout_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size,
                 Storage storage = Storage::tokens_first);

HostTensor poisoned(DType dtype, const Layout& layout);
void write(HostTensor& memory, const Layout& layout, const std::vector<double>& values);
std::vector<double> read(const HostTensor& memory, const Layout& layout);

// Whether there is something other than NaN past the tail.
bool written_past_tail(const HostTensor& memory, const Layout& layout);

}  // namespace wkvc::test
