#include "runtime/cuda/box_maps.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/cuda/cuda_library.h"
#include "runtime/error.h"
#include "runtime/launch/tiles.h"

namespace wkvc {
namespace {

constexpr std::uint32_t box_bytes = 128;  // of a row, as wide as the swizzle

std::uint64_t columns_of(const TensorSpec& spec, const Manifest& manifest) {
  if (spec.dims.back() == "K") return static_cast<std::uint64_t>(manifest.key_dim);
  if (spec.dims.back() == "V") return static_cast<std::uint64_t>(manifest.head_values());
  return std::stoull(spec.dims.back());
}

int map_dtype(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return CudaBoxMap::f16;
    case DType::bf16:
      return CudaBoxMap::bf16;
    case DType::f32:
      return CudaBoxMap::f32;
  }
  internal_error("no map has such elements");
}

KernelArgs<1> sizes_of(std::span<const std::byte> arguments) {
  KernelArgs<1> sizes{};
  std::memcpy(&sizes, arguments.data(), offsetof(KernelArgs<1>, tensor));
  return sizes;
}

// The arguments end where maps, which are aligned to their half, may begin.
std::size_t maps_begin(std::size_t argument_bytes) {
  return (argument_bytes + alignof(BoxMap) - 1) / alignof(BoxMap) * alignof(BoxMap);
}

}  // namespace

BoxMaps::BoxMaps(const Manifest& manifest) : rows_(static_cast<std::uint32_t>(manifest.chunk)) {
  for (const std::string& name : manifest.maps) {
    const auto spec = std::ranges::find(manifest.tensors, name, &TensorSpec::name);
    mapped_.push_back(
        {static_cast<std::size_t>(spec - manifest.tensors.begin()), spec->dtype, columns_of(*spec, manifest)});
  }
}

BoxMap BoxMaps::map_of(const Mapped& mapped, const KernelArgs<1>& sizes, const TensorArg& tensor) const {
  const std::uint64_t element = size_of(mapped.dtype);
  const auto extent = [](long long count) { return static_cast<std::uint64_t>(std::max(count, 1LL)); };
  // A dimension of one element has no stride, but the map wants one.
  const auto stride = [&](long long elements) {
    return (elements == 0 ? mapped.columns : static_cast<std::uint64_t>(elements)) * element;
  };
  const std::array<std::uint64_t, 4> extents{mapped.columns, extent(sizes.heads), extent(sizes.tokens),
                                             extent(sizes.batches)};
  const std::array<std::uint64_t, 3> strides{stride(tensor.head), stride(tensor.row), stride(tensor.batch)};
  const std::array<std::uint32_t, 4> box{box_bytes / static_cast<std::uint32_t>(element), 1, rows_, 1};
  constexpr std::array<std::uint32_t, 4> every{1, 1, 1, 1};
  BoxMap map;
  const CudaLibrary& cuda = cuda_library();
  cuda.check(cuda.map_tiled(&map, map_dtype(mapped.dtype), 4, tensor.data, extents.data(), strides.data(), box.data(),
                            every.data(), 0, CudaBoxMap::swizzled_128, CudaBoxMap::promoted_256, 0),
             "make the map of a tensor");
  return map;
}

std::span<const std::byte> BoxMaps::join(std::span<const std::byte> arguments,
                                         std::span<std::byte, most_bytes> to) const {
  const std::size_t begin = maps_begin(arguments.size()), bytes = begin + mapped_.size() * sizeof(BoxMap);
  if (bytes > most_bytes) internal_error("a kernel's parameter has {} bytes, at most {} fit", bytes, most_bytes);
  const KernelArgs<1> sizes = sizes_of(arguments);
  std::memcpy(to.data(), arguments.data(), arguments.size());
  for (std::size_t i = 0; i < mapped_.size(); ++i) {
    const BoxMap map = map_of(mapped_[i], sizes, tensor_of(arguments, mapped_[i].tensor));
    std::memcpy(to.data() + begin + i * sizeof map, &map, sizeof map);
  }
  return to.first(bytes);
}

}  // namespace wkvc
