#include "runtime/cuda/driver.h"

#include <array>
#include <utility>

#include "runtime/cuda/cuda_library.h"
#include "runtime/error.h"
#include "runtime/manifest/kernel_names.h"

namespace wkvc {
namespace {

// The driver's numbers for what is asked of it.
constexpr int attribute_sm_count = 16;
constexpr int attribute_l2_bytes = 38;
constexpr int attribute_compute_major = 75;
constexpr int attribute_compute_minor = 76;
constexpr int attribute_pageable_access = 88;
constexpr int attribute_max_shared = 97;
constexpr int pointer_attribute_memory_type = 2;
constexpr int pointer_attribute_device_pointer = 3;
constexpr int pointer_attribute_is_managed = 8;
constexpr int pointer_attribute_device = 9;
constexpr unsigned memory_type_host = 1;
constexpr unsigned memory_type_device = 2;
constexpr int function_attribute_max_dynamic_shared = 8;
constexpr unsigned stream_non_blocking = 1;

int device_count() {
  int count = 0;
  cuda_library().check(cuda_library().device_count(&count), "count the GPUs");
  return count;
}

int attribute(int device, int which) {
  int value = 0;
  cuda_library().check(cuda_library().device_attribute(&value, which, device), "read a GPU's attribute");
  return value;
}

// What the driver knows of memory; nothing but zeros, when it is pageable memory of the host or none at all.
struct MemoryFacts {
  unsigned type = 0;
  void* seen_by_kernels = nullptr;
  unsigned is_managed = 0;
  int device = 0;
};

MemoryFacts facts_of(const void* data) {
  MemoryFacts facts;
  const std::array<int, 4> attributes{pointer_attribute_memory_type, pointer_attribute_device_pointer,
                                      pointer_attribute_is_managed, pointer_attribute_device};
  std::array<void*, 4> values{&facts.type, static_cast<void*>(&facts.seen_by_kernels), &facts.is_managed,
                              &facts.device};
  const CudaLibrary& cuda = cuda_library();
  cuda.check(cuda.pointer_attributes(attributes.size(), attributes.data(), values.data(), data),
             "tell what memory a pointer is to");
  return facts;
}

}  // namespace

bool cuda_available(std::string* why_not) {
  try {
    if (device_count() == 0) user_error("the NVIDIA driver finds no GPU");
    return true;
  } catch (const std::runtime_error& error) {
    if (why_not != nullptr) *why_not = error.what();
    return false;
  }
}

struct Device::Primary {
  explicit Primary(int ordinal) {
    const CudaLibrary& cuda = cuda_library();
    cuda.check(cuda.device_get(&device, ordinal), "find the GPU");
    reaches_pageable = attribute(device, attribute_pageable_access) != 0;
    cuda.check(cuda.primary_retain(&context, device), "make a context");
  }
  ~Primary() { cuda_library().primary_release(device); }
  Primary(const Primary&) = delete;
  Primary& operator=(const Primary&) = delete;

  int device = 0;
  bool reaches_pageable = false;  // kernels may read and write memory of the host that is not pinned
  void* context = nullptr;
};

Device::Device(std::shared_ptr<const Primary> primary) : primary_(std::move(primary)) {}

Device Device::open(int ordinal) {
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count) user_error("there is no GPU {}: this machine has {}", ordinal, count);
  return Device(std::make_shared<Primary>(ordinal));
}

Device Device::current() {
  const CudaLibrary& cuda = cuda_library();
  void* context = nullptr;
  cuda.check(cuda.context_current(&context), "tell the current context");
  int ordinal = 0;  // a device's handle is its ordinal
  if (context != nullptr) cuda.check(cuda.context_device(&ordinal), "tell the current GPU");
  return open(ordinal);
}

std::string driver_version() { return cuda_library().release(); }

int Device::ordinal() const { return primary_->device; }

DeviceProperties Device::properties() const {
  const CudaLibrary& cuda = cuda_library();
  const int device = primary_->device;
  DeviceProperties result;
  std::array<char, 256> name{};
  cuda.check(cuda.device_name(name.data(), static_cast<int>(name.size()), device), "read the GPU's name");
  result.name = name.data();
  std::size_t memory = 0;
  cuda.check(cuda.device_memory(&memory, device), "read the GPU's memory size");
  result.memory_bytes = static_cast<std::int64_t>(memory);
  result.compute_major = attribute(device, attribute_compute_major);
  result.compute_minor = attribute(device, attribute_compute_minor);
  result.sm_count = attribute(device, attribute_sm_count);
  result.l2_bytes = attribute(device, attribute_l2_bytes);
  result.max_shared_bytes = attribute(device, attribute_max_shared);
  return result;
}

void Device::copy_to_device(void* to, const void* from, std::size_t bytes, StreamHandle stream) const {
  if (bytes == 0) return;
  const ContextScope scope(*this);
  cuda_library().check(cuda_library().copy_to_device(to, from, bytes, stream), "copy to the GPU");
}

void Device::copy_to_host(void* to, const void* from, std::size_t bytes, StreamHandle stream) const {
  if (bytes == 0) return;
  const ContextScope scope(*this);
  cuda_library().check(cuda_library().copy_to_host(to, from, bytes, stream), "copy from the GPU");
}

void Device::copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const {
  if (bytes == 0) return;
  const ContextScope scope(*this);
  cuda_library().check(cuda_library().copy(to, from, bytes, stream), "copy on the GPU");
}

void Device::set_bytes(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const {
  if (bytes == 0) return;
  const ContextScope scope(*this);
  cuda_library().check(cuda_library().set_bytes(to, value, bytes, stream), "fill memory of the GPU");
}

void Device::synchronize(StreamHandle stream) const {
  const ContextScope scope(*this);
  cuda_library().check(cuda_library().stream_synchronize(stream), "finish the work of a stream");
}

std::string Device::why_unreachable(const void* data) const {
  const ContextScope scope(*this);
  const MemoryFacts facts = facts_of(data);
  if (facts.is_managed != 0) return {};
  const int own = primary_->device;
  if (facts.type == memory_type_device) {
    if (facts.device == own) return {};
    return fmt::format("is memory of GPU {}, but the kernel was loaded for GPU {}: copy it there, or load another",
                       facts.device, own);
  }
  const bool reached = facts.type == memory_type_host ? facts.seen_by_kernels == data : primary_->reaches_pageable;
  if (reached) return {};
  return fmt::format("is no memory that GPU {} reaches, but pageable memory of the host, or none: copy it to the GPU",
                     own);
}

ContextScope::ContextScope(const Device& device) {
  cuda_library().check(cuda_library().context_push(device.primary_->context), "switch to the GPU's context");
}

ContextScope::ContextScope(const Device& device, std::nothrow_t) noexcept
    : pushed_(cuda_library().context_push(device.primary_->context) == 0) {}

ContextScope::~ContextScope() {
  if (!pushed_) return;
  void* popped = nullptr;
  cuda_library().context_pop(&popped);
}

DeviceBuffer::DeviceBuffer(const Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes == 0) return;
  const ContextScope scope(device_);
  const std::string what = fmt::format("allocate {} bytes on the GPU", bytes);
  cuda_library().check(cuda_library().allocate(&data_, bytes), what.c_str());
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  const ContextScope scope(device_, std::nothrow);
  cuda_library().free(data_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(std::move(other.device_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Stream::Stream(const Device& device) : device_(device) {
  const ContextScope scope(device_);
  cuda_library().check(cuda_library().stream_create(&handle_, stream_non_blocking), "make a stream");
}

Stream::~Stream() {
  const ContextScope scope(device_, std::nothrow);
  cuda_library().stream_destroy(handle_);
}

Event::Event(const Device& device) : device_(device) {
  const ContextScope scope(device_);
  cuda_library().check(cuda_library().event_create(&handle_, 0), "make an event");
}

Event::~Event() {
  const ContextScope scope(device_, std::nothrow);
  cuda_library().event_destroy(handle_);
}

void Event::record(StreamHandle stream) {
  const ContextScope scope(device_);
  cuda_library().check(cuda_library().event_record(handle_, stream), "record an event");
}

double Event::ms_since(const Event& start) const {
  const ContextScope scope(device_);
  const CudaLibrary& cuda = cuda_library();
  cuda.check(cuda.event_synchronize(handle_), "finish the work before an event");
  float ms = 0;
  cuda.check(cuda.event_elapsed(&ms, start.handle_, handle_), "tell the time between two events");
  return ms;
}

DeviceKernel::DeviceKernel(const Device& device, std::span<const char> cubin, const std::string& symbol,
                           std::int64_t shared_bytes)
    : device_(device), shared_bytes_(static_cast<unsigned>(shared_bytes)) {
  const DeviceProperties properties = device.properties();
  if (shared_bytes < 0 || shared_bytes > properties.max_shared_bytes) {
    user_error(
        "kernel {} needs {} bytes of shared memory, but a block of {} can have {}: compile it with a smaller budget",
        symbol, shared_bytes, properties.name, properties.max_shared_bytes);
  }
  const ContextScope scope(device_);
  const CudaLibrary& cuda = cuda_library();
  cuda.check(cuda.module_load(&module_, cubin.data()), "load the kernel's cubin");
  try {
    const CudaLibrary::Result found = cuda.module_function(&function_, module_, symbol.c_str());
    if (found == CudaLibrary::not_found) refuse_kernel_name(symbol);
    cuda.check(found, "find the kernel in its cubin");
    cuda.check(
        cuda.function_set_attribute(function_, function_attribute_max_dynamic_shared, static_cast<int>(shared_bytes)),
        "reserve the kernel's shared memory");
  } catch (...) {
    cuda.module_unload(module_);
    throw;
  }
}

DeviceKernel::~DeviceKernel() {
  const ContextScope scope(device_, std::nothrow);
  cuda_library().module_unload(module_);
}

void DeviceKernel::launch(unsigned blocks, unsigned threads, std::span<const std::byte> arguments, StreamHandle stream,
                          Start start) const {
  constexpr CudaLaunchAttribute early{.which = CudaLaunchAttribute::programmatic_stream_serialization, .value = 1};
  const CudaLaunch launch{.grid = {blocks, 1, 1},
                          .block = {threads, 1, 1},
                          .shared_bytes = shared_bytes_,
                          .stream = stream,
                          .attributes = &early,
                          .attribute_count = start == Start::early && cuda_library().starts_early() ? 1u : 0u};
  // The address of the only parameter: where a parameter is aligned to 64 bytes, as one with maps is, the driver puts
  // a buffer of parameters (CU_LAUNCH_PARAM_BUFFER_POINTER) at another offset than the kernel reads.
  void* parameter = const_cast<std::byte*>(arguments.data());
  const ContextScope scope(device_);
  cuda_library().check(cuda_library().launch(&launch, function_, &parameter, nullptr), "launch the kernel");
}

}  // namespace wkvc
