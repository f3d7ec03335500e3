#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/backend.h"
#include "runtime/cubin_cache.h"
#include "runtime/error.h"
#include "runtime/launch_arguments.h"

namespace wkvc {
namespace {

constexpr unsigned warp_threads = 32;

// For launches whose rows move in pieces of 16 bytes there is a kernel at once, which has no code for others; for those
// there is another one as soon as it is needed.
class CudaBackend final : public Backend {
 public:
  using MakeCubin = std::function<std::vector<char>()>;

  CudaBackend(const Device& device, const CubinResult& aligned, MakeCubin make_general, const Manifest& manifest)
      : device_(device),
        aligned_(device, aligned.cubin, manifest.kernel, manifest.shared_bytes),
        make_general_(std::move(make_general)),
        symbol_(manifest.kernel),
        shared_bytes_(manifest.shared_bytes),
        threads_(static_cast<unsigned>(manifest.warps) * warp_threads),
        usage_(usage_from(aligned.log, manifest.kernel)) {}

  void prepare(std::span<const std::byte> arguments) const override { kernel_for(arguments); }
  void run(unsigned blocks, std::span<const std::byte> arguments, StreamHandle stream) const override {
    kernel_for(arguments).launch(blocks, threads_, arguments, stream);
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
  const DeviceKernel& kernel_for(std::span<const std::byte> arguments) const {
    if (moves_in_pieces(arguments)) return aligned_;
    const std::lock_guard lock(mutex_);
    if (!general_) general_.emplace(device_, make_general_(), symbol_, shared_bytes_);
    return *general_;
  }

  Device device_;
  DeviceKernel aligned_;
  MakeCubin make_general_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::optional<DeviceKernel> general_;
  std::string symbol_;
  std::int64_t shared_bytes_;
  unsigned threads_;
  CubinUsage usage_;
};

std::vector<char> bytes_of(std::span<const char> cubin) { return {cubin.begin(), cubin.end()}; }

}  // namespace

Backends make_cuda_backends(std::shared_ptr<const std::string> source, std::span<const Manifest> manifests) {
  const Device device = Device::current();  // before compiling: without a GPU that is the first thing to say
  const std::vector<CubinResult> aligned = cached_cubins(*source, manifests);
  Backends backends;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    const auto make_general = [source, manifest = manifests[i]] {
      return cached_cubin(*source, manifest, {.only_kernel = manifest.kernel}).cubin;
    };
    backends.push_back(std::make_shared<CudaBackend>(device, aligned[i], make_general, manifests[i]));
  }
  return backends;
}

Backends make_cuda_backends(const PackedProgram& packed, std::span<const Manifest> manifests) {
  const Device device = Device::current();
  const CubinResult aligned{bytes_of(packed.aligned), std::string(packed.log)};
  const auto make_general = [general = packed.general] {
    if (general.empty()) {
      user_error("these kernels were packed for tensors whose rows are aligned to 16 bytes: pack them again");
    }
    return bytes_of(general);
  };
  Backends backends;
  for (const Manifest& manifest : manifests) {
    backends.push_back(std::make_shared<CudaBackend>(device, aligned, make_general, manifest));
  }
  return backends;
}

}  // namespace wkvc
