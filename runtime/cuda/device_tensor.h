// Tensors in a GPU's memory, for programs that have no framework to hold them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

// A contiguous array, last dimension fastest.
class DeviceTensor {
 public:
  DeviceTensor(const Device& device, DType dtype, std::vector<std::int64_t> shape);  // uninitialised

  static DeviceTensor upload(const Device& device, const HostTensor& tensor);  // waits until the copy is done

  // Waits for `stream` (which has to be the one that wrote the tensor), then copies.
  HostTensor download(StreamHandle stream = nullptr) const;

  void poison(StreamHandle stream = nullptr);  // NaN everywhere, in the order of the stream
  Tensor view() const;                         // valid while this tensor lives; throws as HostTensor::view does

 private:
  Device device_;
  DType dtype_;
  std::vector<std::int64_t> shape_;
  DeviceBuffer buffer_;
};

}  // namespace wkvc
