// RWKV-7's forward pass, compiled while this program runs and launched on memory of its own.
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "runtime/cuda/device_tensor.h"
#include "runtime/error.h"

int main() {
  using namespace wkvc;
  try {
    const Target target = cuda_available(nullptr) ? Target::cuda : Target::host;
    const auto op = prepare("rwkv7", {.key_dim = 32, .value_dim = 32, .io = "f32", .mma = "f32"}, {.target = target});
    const LaunchSize size{1, 20, 1};

    // Inputs of 0.1, no initial state; results are NaN until the kernel has run.
    std::vector<HostTensor> host;
    for (const TensorSpec& spec : op->tensors(Direction::forward)) {
      HostTensor& tensor = host.emplace_back(spec.dtype, shape_of(spec, op->manifest(), size));
      tensor.poison();
      for (std::size_t i = 0; spec.role == Role::input && i < tensor.size(); ++i) tensor.set(i, 0.1);
    }
    std::vector<DeviceTensor> device;
    std::vector<Tensor> tensors;
    for (HostTensor& tensor : host) {
      if (target == Target::cuda) device.push_back(DeviceTensor::upload(Device::current(), tensor));
      tensors.push_back(target == Target::cuda ? device.back().view() : tensor.view());
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (op->tensors(Direction::forward)[i].role == Role::initial_state) tensors[i] = {};
    }
    op->launch(Direction::forward, tensors, size);

    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (op->tensors(Direction::forward)[i].name != "o") continue;
      const HostTensor o = target == Target::cuda ? device[i].download() : host[i];
      // The first token: S = v·kᵀ, so that o = v·(k·r) = 0.1 · 32 · 0.1².
      std::printf("on %s: o of the first token %.6f, of the last %.6f\n", target == Target::cuda ? "cuda" : "cpu",
                  o.get(0), o.get(o.size() - 1));
      return std::abs(o.get(0) - 0.032) < 1e-6 && std::isfinite(o.get(o.size() - 1)) ? 0 : 1;
    }
    return 1;
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
