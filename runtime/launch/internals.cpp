#include "runtime/launch/internals.h"

#include "runtime/error.h"
#include "runtime/tensor/checked.h"

namespace wkvc {

std::int64_t internal_bytes(const Program& program, LaunchSize size) {
  CheckedInt bytes = 0;
  for (const TensorSpec& spec : program.internals()) {
    bytes = checked_add(bytes, byte_count(spec.dtype, shape_of(spec, program.manifest(), size)));
  }
  if (!bytes) {
    user_error("B, T, H = {}, {}, {}: what the kernels keep for each other exceeds 63 bits", size.batches, size.tokens,
               size.heads);
  }
  return *bytes;
}

std::map<std::string, HostTensor> host_internals(const Program& program, LaunchSize size) {
  std::map<std::string, HostTensor> tensors;
  for (const TensorSpec& spec : program.internals()) {
    tensors.try_emplace(spec.name, spec.dtype, shape_of(spec, program.manifest(), size));
  }
  return tensors;
}

std::map<std::string, DeviceTensor> device_internals(const Program& program, const Device& device, LaunchSize size) {
  std::map<std::string, DeviceTensor> tensors;
  for (const TensorSpec& spec : program.internals()) {
    tensors.try_emplace(spec.name, device, spec.dtype, shape_of(spec, program.manifest(), size));
  }
  return tensors;
}

}  // namespace wkvc
