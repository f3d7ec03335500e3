// A CUDA driver for machines without one, as libcuda.so.1: it speaks of two GPUs, does nothing, and remembers its
// calls.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/cuda/cuda_library.h"

namespace {

char calls[4096];
unsigned memory_type;
bool memory_is_mapped, memory_is_managed;
int memory_device, pageable_access;
bool launched_early;
char launched;                         // the first byte of the cubin whose kernel ran last
std::array<std::byte, 640> parameter;  // of that kernel: as many bytes as the largest one of the tests has

int note(const char* name) {
  std::strncat(calls, name, sizeof calls - std::strlen(calls) - 2);
  std::strcat(calls, " ");
  return 0;
}

}  // namespace

// What a test asks of it: the calls since the last question, and what it says of memory from now on.
extern "C" void fake_take_calls(char* taken, std::size_t bytes) {
  std::strncpy(taken, calls, bytes - 1);
  calls[0] = '\0';
}
extern "C" void fake_memory(unsigned type, int mapped, int managed, int device) {
  memory_type = type;
  memory_is_mapped = mapped != 0;
  memory_is_managed = managed != 0;
  memory_device = device;
}
extern "C" void fake_pageable_access(int access) { pageable_access = access; }
extern "C" char fake_launched() { return launched; }
extern "C" const std::byte* fake_parameter() { return parameter.data(); }
extern "C" int fake_launched_early() { return launched_early ? 1 : 0; }

extern "C" int cuDriverGetVersion(int* version) {
  const char* said = std::getenv("FAKE_DRIVER_VERSION");
  *version = said != nullptr ? std::stoi(said) : 13000;
  return note("cuDriverGetVersion");
}
extern "C" int cuDeviceGetCount(int* count) {
  *count = 2;
  return note("cuDeviceGetCount");
}
extern "C" int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return note("cuDeviceGet");
}
extern "C" int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int is_pageable_access = 88, max_shared_bytes = 97;
  *value = attribute == is_pageable_access ? pageable_access : attribute == max_shared_bytes ? 1 << 16 : 0;
  return note("cuDeviceGetAttribute");
}
extern "C" int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, void* data) {
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case 2:
        std::memcpy(values[i], &memory_type, sizeof memory_type);
        break;
      case 3:
        if (!memory_is_mapped) data = nullptr;
        std::memcpy(values[i], &data, sizeof data);
        break;
      case 8: {
        const unsigned managed = memory_is_managed ? 1 : 0;
        std::memcpy(values[i], &managed, sizeof managed);
        break;
      }
      case 9:
        std::memcpy(values[i], &memory_device, sizeof memory_device);
        break;
      default:
        return 1;
    }
  }
  return note("cuPointerGetAttributes");
}

// The first byte of a cubin stands for its module, and for the kernel in it; 'n' stands for a CUDA that is too new.
extern "C" int cuModuleLoadData(std::uintptr_t* module, const void* cubin) {
  constexpr int invalid_image = 200;
  if (*static_cast<const char*>(cubin) == 'n') return invalid_image;
  *module = static_cast<unsigned char>(*static_cast<const char*>(cubin));
  return note("cuModuleLoadData");
}
extern "C" int cuModuleGetFunction(std::uintptr_t* function, std::uintptr_t module, const char*) {
  *function = module;
  return note("cuModuleGetFunction");
}
extern "C" int cuLaunchKernelEx(const wkvc::CudaLaunch* launch, std::uintptr_t function, void** parameters, void**) {
  launched = static_cast<char>(function);
  std::memcpy(parameter.data(), *parameters, parameter.size());
  const auto is_early = [](const wkvc::CudaLaunchAttribute& attribute) {
    return attribute.which == wkvc::CudaLaunchAttribute::programmatic_stream_serialization && attribute.value == 1;
  };
  launched_early = launch->attribute_count == 1 && is_early(*launch->attributes);
  return note("cuLaunchKernelEx");
}

// A map says here what it was made of: extents, strides and the box.
extern "C" int cuTensorMapEncodeTiled(std::uint64_t* map, int dtype, std::uint32_t rank, void*,
                                      const std::uint64_t* extents, const std::uint64_t* strides,
                                      const std::uint32_t* box) {
  map[0] = static_cast<std::uint64_t>(dtype);
  for (std::uint32_t i = 0; i < rank; ++i) map[1 + i] = extents[i];
  for (std::uint32_t i = 0; i + 1 < rank; ++i) map[1 + rank + i] = strides[i];
  for (std::uint32_t i = 0; i < rank; ++i) map[2 * rank + i] = box[i];
  return note("cuTensorMapEncodeTiled");
}

#define FAKE_CALL(name) \
  extern "C" int name() { return note(#name); }
FAKE_CALL(cuInit)
FAKE_CALL(cuGetErrorString)
FAKE_CALL(cuGetErrorName)
FAKE_CALL(cuDeviceGetName)
FAKE_CALL(cuDeviceTotalMem_v2)
FAKE_CALL(cuDevicePrimaryCtxRetain)
FAKE_CALL(cuDevicePrimaryCtxRelease_v2)
FAKE_CALL(cuCtxGetCurrent)
FAKE_CALL(cuCtxGetDevice)
FAKE_CALL(cuCtxPushCurrent_v2)
FAKE_CALL(cuCtxPopCurrent_v2)
FAKE_CALL(cuModuleUnload)
FAKE_CALL(cuFuncSetAttribute)
FAKE_CALL(cuMemAlloc_v2)
FAKE_CALL(cuMemFree_v2)
FAKE_CALL(cuMemcpyHtoDAsync_v2)
FAKE_CALL(cuMemcpyDtoHAsync_v2)
FAKE_CALL(cuMemcpyDtoDAsync_v2)
FAKE_CALL(cuMemsetD8Async)
FAKE_CALL(cuStreamCreate)
FAKE_CALL(cuStreamDestroy_v2)
FAKE_CALL(cuStreamSynchronize)
FAKE_CALL(cuEventCreate)
FAKE_CALL(cuEventDestroy_v2)
FAKE_CALL(cuEventRecord)
FAKE_CALL(cuEventSynchronize)
FAKE_CALL(cuEventElapsedTime)
