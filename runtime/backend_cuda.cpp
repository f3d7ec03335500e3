#include <utility>

#include "runtime/backend.h"
#include "runtime/cubin_cache.h"

namespace wkvc {
namespace {

constexpr unsigned warp_threads = 32;

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Device& device, const CubinResult& compiled, const Manifest& manifest)
      : device_(device),
        kernel_(device, compiled.cubin, manifest.kernel, manifest.shared_bytes),
        threads_(static_cast<unsigned>(manifest.warps) * warp_threads),
        usage_(usage_from(compiled.log, manifest.kernel)) {}

  void run(unsigned blocks, std::span<const std::byte> arguments, StreamHandle stream) const override {
    kernel_.launch(blocks, threads_, arguments, stream);
  }
  void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const override {
    device_.copy(to, from, bytes, stream);
  }
  void set_zero(void* to, std::size_t bytes, StreamHandle stream) const override {
    device_.set_bytes(to, 0, bytes, stream);
  }
  std::string why_unreachable(const void* data) const override { return device_.why_unreachable(data); }
  CubinUsage usage() const override { return usage_; }

 private:
  Device device_;
  DeviceKernel kernel_;
  unsigned threads_;
  CubinUsage usage_;
};

}  // namespace

Backends make_cuda_backends(const std::string& source, std::span<const Manifest> manifests) {
  Device::current();  // before compiling: without a GPU that is the first thing to say
  const std::vector<CubinResult> compiled = cached_cubins(source, manifests);
  Backends backends;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    backends.push_back(make_cuda_backends(compiled[i], manifests.subspan(i, 1)).front());
  }
  return backends;
}

Backends make_cuda_backends(const CubinResult& compiled, std::span<const Manifest> manifests) {
  const Device device = Device::current();
  Backends backends;
  for (const Manifest& manifest : manifests) {
    backends.push_back(std::make_shared<CudaBackend>(device, compiled, manifest));
  }
  return backends;
}

}  // namespace wkvc
