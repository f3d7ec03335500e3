// The CUDA driver: devices, memory, streams, events, modules. The driver is opened at run time.
//
// Everything here throws UserError when there is no driver, no such GPU or not enough memory, and InternalError with
// the driver's text for any other failure. A kernel's fault appears at the next call that waits. The calling thread's
// current context stays as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

namespace wkvc {

using StreamHandle = void*;  // a CUstream or cudaStream_t; null: the default stream

bool cuda_available(std::string* why_not);  // a driver and at least one GPU; `why_not` may be null

std::string driver_version();  // "13.0": the CUDA that the driver is of

struct DeviceProperties {
  std::string name;
  int compute_major = 0, compute_minor = 0;  // 9, 0
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t max_shared_bytes = 0;  // of one block, when a kernel asks for it
};

// A GPU with its primary context (the one PyTorch and the CUDA runtime use), retained while any copy lives.
class Device {
 public:
  static Device open(int ordinal);
  static Device current();  // of the calling thread's context; 0 when it has none

  int ordinal() const;
  DeviceProperties properties() const;

  // In the order of the stream; they return before the copy is done, except that pageable host memory may be read
  // or written before they return. Zero bytes: nothing is done.
  void copy_to_device(void* to, const void* from, std::size_t bytes, StreamHandle stream) const;
  void copy_to_host(void* to, const void* from, std::size_t bytes, StreamHandle stream) const;
  void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const;
  void set_bytes(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const;

  void synchronize(StreamHandle stream) const;

  // Why a kernel of this GPU cannot reach the memory at `data`, to go behind "which"; empty when it can. Managed memory
  // and pinned host memory can be reached; memory of another GPU counts as out of reach even where the two are peers.
  std::string why_unreachable(const void* data) const;

 private:
  friend class ContextScope;
  struct Primary;
  explicit Device(std::shared_ptr<const Primary> primary);
  std::shared_ptr<const Primary> primary_;
};

// Makes the device's context current on this thread while it lives.
class ContextScope {
 public:
  explicit ContextScope(const Device& device);
  // For destructors, which run when the driver may already have shut down: on failure, the context stays as it was.
  ContextScope(const Device& device, std::nothrow_t) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  bool pushed_ = true;
};

class DeviceBuffer {
 public:
  DeviceBuffer(const Device& device, std::size_t bytes);  // uninitialised; zero bytes: data() is null
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Device device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  explicit Stream(const Device& device);  // does not wait for the default stream
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamHandle handle() const { return handle_; }
  void synchronize() const { device_.synchronize(handle_); }

 private:
  Device device_;
  StreamHandle handle_ = nullptr;
};

class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(StreamHandle stream);
  double ms_since(const Event& start) const;  // milliseconds between two recorded events; waits for this one

 private:
  Device device_;
  void* handle_ = nullptr;
};

// When the blocks of a kernel may take their places: when all before it in the stream has ended; or when every block of
// the kernel before has ended or says so. The latter is for kernels that wait by themselves for the kernel before.
enum class Start { in_order, early };

// One kernel of a cubin, loaded on a device.
class DeviceKernel {
 public:
  // `shared_bytes` of dynamic shared memory a block. UserError: more than the device has, or the cubin is for another.
  DeviceKernel(const Device& device, std::span<const char> cubin, const std::string& symbol, std::int64_t shared_bytes);
  ~DeviceKernel();
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;

  // `arguments`: the bytes of the kernel's only parameter, taken by value. Neither allocates nor waits.
  void launch(unsigned blocks, unsigned threads, std::span<const std::byte> arguments, StreamHandle stream,
              Start start = Start::in_order) const;

 private:
  Device device_;
  void* module_ = nullptr;
  void* function_ = nullptr;
  unsigned shared_bytes_ = 0;
};

}  // namespace wkvc
