#include "runtime/launch/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/launch/launch_arguments.h"

namespace wkvc {

TensorArg tensor_of(std::span<const std::byte> arguments, std::size_t index) {
  TensorArg tensor{};
  std::memcpy(&tensor, arguments.data() + offsetof(KernelArgs<1>, tensor) + index * sizeof tensor, sizeof tensor);
  return tensor;
}

std::string why_no_tiles(const Manifest& manifest, std::span<const std::byte> arguments) {
  if (manifest.maps.empty()) return {};
  if (maps_sequences(arguments)) {
    return "this kernel takes no map of sequences, no slots of states and no shared heads: launch the sequences one by "
           "one, with heads of their own";
  }
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (std::ranges::find(manifest.maps, manifest.tensors[i].name) == manifest.maps.end()) continue;
    const TensorArg tensor = tensor_of(arguments, i);
    if ((tensor.flags & kVector16) != 0 && std::min({tensor.batch, tensor.row, tensor.head}) >= 0) continue;
    return fmt::format(
        "this kernel copies '{}' as tiles: its data and strides have to be multiples of 16 bytes, from 0 on",
        manifest.tensors[i].name);
  }
  return {};
}

}  // namespace wkvc
