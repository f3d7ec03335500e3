#include "runtime/cuda/cuda_library.h"

#include <string>

#include "runtime/error.h"

namespace wkvc {
namespace {

void find_device_functions(const DynamicLibrary& library, CudaLibrary& cuda) {
  library.find("cuInit", cuda.init);
  library.find("cuGetErrorString", cuda.error_text);
  library.find("cuGetErrorName", cuda.error_name);
  library.find("cuDriverGetVersion", cuda.driver_version);
  library.find("cuDeviceGetCount", cuda.device_count);
  library.find("cuDeviceGet", cuda.device_get);
  library.find("cuDeviceGetName", cuda.device_name);
  library.find("cuDeviceTotalMem_v2", cuda.device_memory);
  library.find("cuDeviceGetAttribute", cuda.device_attribute);
  library.find("cuDevicePrimaryCtxRetain", cuda.primary_retain);
  library.find("cuDevicePrimaryCtxRelease_v2", cuda.primary_release);
  library.find("cuCtxGetCurrent", cuda.context_current);
  library.find("cuCtxGetDevice", cuda.context_device);
  library.find("cuCtxPushCurrent_v2", cuda.context_push);
  library.find("cuCtxPopCurrent_v2", cuda.context_pop);
}

void find_kernel_functions(const DynamicLibrary& library, CudaLibrary& cuda) {
  library.find("cuModuleLoadData", cuda.module_load);
  library.find("cuModuleUnload", cuda.module_unload);
  library.find("cuModuleGetFunction", cuda.module_function);
  library.find("cuFuncSetAttribute", cuda.function_set_attribute);
  library.find("cuLaunchKernelEx", cuda.launch);
  library.find("cuTensorMapEncodeTiled", cuda.map_tiled);
}

void find_memory_functions(const DynamicLibrary& library, CudaLibrary& cuda) {
  library.find("cuMemAlloc_v2", cuda.allocate);
  library.find("cuMemFree_v2", cuda.free);
  library.find("cuMemcpyHtoDAsync_v2", cuda.copy_to_device);
  library.find("cuMemcpyDtoHAsync_v2", cuda.copy_to_host);
  library.find("cuMemcpyDtoDAsync_v2", cuda.copy);
  library.find("cuMemsetD8Async", cuda.set_bytes);
  library.find("cuPointerGetAttributes", cuda.pointer_attributes);
}

void find_stream_functions(const DynamicLibrary& library, CudaLibrary& cuda) {
  library.find("cuStreamCreate", cuda.stream_create);
  library.find("cuStreamDestroy_v2", cuda.stream_destroy);
  library.find("cuStreamSynchronize", cuda.stream_synchronize);
  library.find("cuEventCreate", cuda.event_create);
  library.find("cuEventDestroy_v2", cuda.event_destroy);
  library.find("cuEventRecord", cuda.event_record);
  library.find("cuEventSynchronize", cuda.event_synchronize);
  library.find("cuEventElapsedTime", cuda.event_elapsed);
}

std::string describe(const CudaLibrary& cuda, CudaLibrary::Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  cuda.error_name(result, &name);
  cuda.error_text(result, &text);
  if (name == nullptr || text == nullptr) return fmt::format("error {}", result);
  return fmt::format("{} ({})", text, name);
}

void find_functions(const DynamicLibrary& library, CudaLibrary& cuda) {
  try {
    find_device_functions(library, cuda);
    find_kernel_functions(library, cuda);
    find_memory_functions(library, cuda);
    find_stream_functions(library, cuda);
  } catch (const MissingSymbol& missing) {
    user_error("the NVIDIA driver is not usable: {}. Install a driver of CUDA 12 or later, or use the host target",
               missing.what());
  }
}

void expect_recent(const CudaLibrary& cuda) {
  if (cuda.version >= 12000) return;
  user_error("the NVIDIA driver ({}) is of CUDA {}: install a driver of CUDA 12 or later, or use the host target",
             cuda.library.file(), cuda.release());
}

CudaLibrary load() {
  CudaLibrary cuda;
  std::string why_not;
  cuda.library = DynamicLibrary::open("libcuda.so.1", &why_not);
  if (!cuda.library) {
    user_error("there is no NVIDIA driver here ({}): run on a machine with a GPU, or use the host target", why_not);
  }
  find_functions(cuda.library, cuda);
  cuda.check(cuda.driver_version(&cuda.version), "tell its version");
  expect_recent(cuda);
  const CudaLibrary::Result result = cuda.init(0);
  if (result != 0) {
    user_error("the NVIDIA driver does not start: {}. Check nvidia-smi, or use the host target",
               describe(cuda, result));
  }
  return cuda;
}

}  // namespace

void CudaLibrary::check(Result result, const char* what) const {
  if (result == 0) return;
  const std::string text = describe(*this, result);
  if (result == out_of_memory) user_error("cannot {}: {}. Use smaller tensors, or free memory", what, text);
  if (result == no_binary_for_gpu || result == invalid_image) {
    user_error(
        "cannot {}: {}. The kernel was compiled for another GPU, or by a CUDA newer than the driver's, {}: compile it "
        "for this GPU, with an older NVRTC (WKVC_NVRTC), or update the driver",
        what, text, release());
  }
  internal_error("the CUDA driver cannot {}: {}", what, text);
}

std::string CudaLibrary::release() const { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

const CudaLibrary& cuda_library() {
  // Never closed: objects that outlive this function's statics may still call into it while the process ends.
  static const auto* library = new CudaLibrary(load());
  return *library;
}

}  // namespace wkvc
