#include "checking/traffic.h"

#include "runtime/error.h"
#include "runtime/tensor/checked.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

std::int64_t bytes_moved(std::span<const Manifest> kernels, LaunchSize size) {
  CheckedInt bytes = 0;
  for (const Manifest& manifest : kernels) {
    if (manifest.refused) continue;
    for (const TensorSpec& spec : manifest.tensors) {
      bytes = checked_add(bytes, byte_count(spec.dtype, shape_of(spec, manifest, size)));
    }
  }
  if (!bytes) user_error("shape {},{},{}: its tensors exceed 63 bits", size.batches, size.tokens, size.heads);
  return *bytes;
}

}  // namespace wkvc
