// The maps of tensors that kernels of warp groups copy as tiles (CUDA Driver API, "Tensor Map Object Management").
// Internal to the runtime.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/manifest/manifest.h"
#include "templates/wkvc/abi.h"

namespace wkvc {

class BoxMaps {
 public:
  static constexpr std::size_t most_bytes = 4096;  // of a kernel's parameter

  explicit BoxMaps(const Manifest& manifest);

  bool empty() const { return mapped_.empty(); }

  // For arguments that the kernel takes (runtime/launch/tiles.h). Writes MappedArgs, the arguments with the maps of
  // their tensors behind them. Returns the bytes that were written.
  std::span<const std::byte> join(std::span<const std::byte> arguments, std::span<std::byte, most_bytes> to) const;

 private:
  struct Mapped {
    std::size_t tensor;  // in KernelArgs::tensor
    DType dtype;
    std::uint64_t columns;
  };

  BoxMap map_of(const Mapped& mapped, const KernelArgs<1>& sizes, const TensorArg& tensor) const;

  std::vector<Mapped> mapped_;
  std::uint32_t rows_;  // of a box
};

}  // namespace wkvc
