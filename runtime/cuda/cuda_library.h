// The functions of the CUDA driver that are used, declared here so that no CUDA toolkit is needed to build, and
// opened at run time so that none is needed to run without a GPU. Internal to the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/dynamic_library.h"

namespace wkvc {

// CUlaunchAttribute and CUlaunchConfig of the driver (CUDA Driver API, "Execution Control").
struct CudaLaunchAttribute {
  static constexpr int programmatic_stream_serialization = 6;

  alignas(8) int which = 0;
  alignas(8) int value = 0;
  std::byte unused[60] = {};
};
struct CudaLaunch {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  const CudaLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(CudaLaunchAttribute) == 72 && offsetof(CudaLaunchAttribute, value) == 8);
static_assert(sizeof(CudaLaunch) == 56 && offsetof(CudaLaunch, stream) == 32 && offsetof(CudaLaunch, attributes) == 40);

// Values of the enumerations that cuTensorMapEncodeTiled takes.
struct CudaBoxMap {
  static constexpr int f16 = 6, f32 = 7, bf16 = 9;
  static constexpr int swizzled_128 = 3;
  static constexpr int promoted_256 = 3;  // bytes that the L2 cache fetches at once
};

struct CudaLibrary {
  using Result = int;     // 0: success
  using Address = void*;  // CUdeviceptr, an integer that is passed as a pointer is
  using ConstAddress = const void*;
  using Handle = void*;  // context, module, function, stream, event

  static constexpr Result out_of_memory = 2;
  static constexpr Result invalid_image = 200;
  static constexpr Result no_binary_for_gpu = 209;
  static constexpr Result not_found = 500;

  DynamicLibrary library;
  int version = 0;  // 13000: of CUDA 13.0
  Result (*init)(unsigned flags) = nullptr;
  Result (*error_text)(Result, const char**) = nullptr;
  Result (*error_name)(Result, const char**) = nullptr;
  Result (*driver_version)(int*) = nullptr;  // 13000: of CUDA 13.0
  Result (*device_count)(int*) = nullptr;
  Result (*device_get)(int* device, int ordinal) = nullptr;
  Result (*device_name)(char*, int bytes, int device) = nullptr;
  Result (*device_memory)(std::size_t*, int device) = nullptr;
  Result (*device_attribute)(int*, int attribute, int device) = nullptr;
  Result (*primary_retain)(Handle* context, int device) = nullptr;
  Result (*primary_release)(int device) = nullptr;
  Result (*context_current)(Handle*) = nullptr;
  Result (*context_device)(int*) = nullptr;
  Result (*context_push)(Handle) = nullptr;
  Result (*context_pop)(Handle*) = nullptr;
  Result (*module_load)(Handle*, const void* image) = nullptr;
  Result (*module_unload)(Handle) = nullptr;
  Result (*module_function)(Handle*, Handle module, const char* name) = nullptr;
  Result (*function_set_attribute)(Handle function, int attribute, int value) = nullptr;
  Result (*launch)(const CudaLaunch*, Handle function, void** parameters, void** extra) = nullptr;
  Result (*map_tiled)(void* map, int dtype, std::uint32_t rank, Address, const std::uint64_t* extents,
                      const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,
                      int interleave, int swizzle, int promotion, int fill) = nullptr;
  Result (*allocate)(Address*, std::size_t bytes) = nullptr;
  Result (*free)(Address) = nullptr;
  Result (*copy_to_device)(Address, const void*, std::size_t bytes, Handle stream) = nullptr;
  Result (*copy_to_host)(void*, ConstAddress, std::size_t bytes, Handle stream) = nullptr;
  Result (*copy)(Address to, ConstAddress from, std::size_t bytes, Handle stream) = nullptr;
  Result (*set_bytes)(Address, unsigned char value, std::size_t bytes, Handle stream) = nullptr;
  Result (*pointer_attributes)(unsigned count, const int* attributes, void** values, ConstAddress) = nullptr;
  Result (*stream_create)(Handle*, unsigned flags) = nullptr;
  Result (*stream_destroy)(Handle) = nullptr;
  Result (*stream_synchronize)(Handle) = nullptr;
  Result (*event_create)(Handle*, unsigned flags) = nullptr;
  Result (*event_destroy)(Handle) = nullptr;
  Result (*event_record)(Handle event, Handle stream) = nullptr;
  Result (*event_synchronize)(Handle) = nullptr;
  Result (*event_elapsed)(float* ms, Handle start, Handle stop) = nullptr;

  // Throws when `result` is an error: UserError for what a user can mend (memory, the wrong GPU), else InternalError.
  void check(Result result, const char* what) const;
  std::string release() const;                            // "13.0": the CUDA that the driver is of
  bool starts_early() const { return version >= 12030; }  // whether kernels may, in graphs, too
};

// Opened and initialised at the first call; throws UserError when there is no driver of CUDA 12 or later, or no GPU.
const CudaLibrary& cuda_library();

}  // namespace wkvc
