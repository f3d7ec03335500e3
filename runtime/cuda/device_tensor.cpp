#include "runtime/cuda/device_tensor.h"

#include <utility>

namespace wkvc {

DeviceTensor::DeviceTensor(const Device& device, DType dtype, std::vector<std::int64_t> shape)
    : device_(device),
      dtype_(dtype),
      shape_(std::move(shape)),
      buffer_(device, static_cast<std::size_t>(byte_count(dtype, shape_))) {}

DeviceTensor DeviceTensor::upload(const Device& device, const HostTensor& tensor) {
  DeviceTensor result(device, tensor.dtype(), tensor.shape());
  device.copy_to_device(result.buffer_.data(), tensor.bytes().data(), tensor.bytes().size(), nullptr);
  device.synchronize(nullptr);
  return result;
}

HostTensor DeviceTensor::download(StreamHandle stream) const {
  HostTensor result(dtype_, shape_);
  device_.copy_to_host(result.bytes().data(), buffer_.data(), buffer_.bytes(), stream);
  device_.synchronize(stream);
  return result;
}

void DeviceTensor::poison(StreamHandle stream) {
  // All ones is a NaN in every storage dtype.
  device_.set_bytes(buffer_.data(), 0xff, buffer_.bytes(), stream);
}

Tensor DeviceTensor::view() const {
  const Extents shape(shape_);
  return {buffer_.data(), dtype_, shape, contiguous_strides(shape)};
}

}  // namespace wkvc
