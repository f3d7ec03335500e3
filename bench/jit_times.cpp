// How long a host application waits: for kernels (compiled, from disk, from memory) and for a launch to return. Run it
// twice with one WKVC_CACHE_DIR, empty at first: what the first run compiles the second finds on disk.
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <vector>

#include "jit/jit.h"
#include "runtime/cuda/device_tensor.h"
#include "runtime/error.h"

namespace {

using namespace wkvc;

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

template <class F>
double ms_of(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return ms_since(begin);
}

// Microseconds of the host for a launch that the GPU keeps up with.
double launch_us(const Operator& op, Direction pass) {
  constexpr LaunchSize size{1, 16, 1};
  constexpr int launches = 2000;
  const Device device = Device::current();
  std::vector<DeviceTensor> memory;
  std::vector<Tensor> tensors;
  for (const TensorSpec& spec : op.tensors(pass)) {
    memory.push_back(DeviceTensor::upload(device, HostTensor(spec.dtype, shape_of(spec, op.manifest(), size))));
    tensors.push_back(memory.back().view());
  }
  const DeviceBuffer workspace(device, static_cast<std::size_t>(op.workspace_bytes(size)));
  const Stream stream(device);
  const auto launch = [&] { op.launch(pass, tensors, size, workspace.data(), stream.handle()); };
  for (int i = 0; i < 100; ++i) launch();
  stream.synchronize();
  double us = 0;
  for (int i = 0; i < launches; ++i) {
    us += 1e3 * ms_of(launch) / launches;
    if (i % 100 == 99) stream.synchronize();  // so that the queue is never full
  }
  return us;
}

void report(const char* op, const char* pass) {
  const Config config{.pass = pass};
  std::shared_ptr<const Operator> kernels;
  const double first = ms_of([&] { kernels = prepare(op, config); });
  const double again = ms_of([&] { kernels = prepare(op, config); });
  fmt::print("{} {}: prepare {:.2f} ms, from memory {:.4f} ms, a forward launch {:.2f} us", op, pass, first, again,
             launch_us(*kernels, Direction::forward));
  if (kernels->has(Direction::backward))
    fmt::print(", a backward one {:.2f} us", launch_us(*kernels, Direction::backward));
  fmt::print("\n");
}

}  // namespace

int main() {
  try {
    std::optional<Device> device;  // its context stays, as that of a host application would
    fmt::print("driver and context: {:.1f} ms\n", ms_of([&] {
                 device = Device::current();
                 DeviceBuffer(*device, 1);
               }));
    for (const char* op : {"rwkv7", "rwkv6"}) {
      for (const char* pass : {"forward", "both"}) report(op, pass);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
