#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/cache/cubin_cache.h"
#include "runtime/cuda/box_maps.h"
#include "runtime/error.h"
#include "runtime/launch/backend.h"
#include "runtime/launch/launch_arguments.h"

namespace wkvc {
namespace {

constexpr unsigned warp_threads = 32;

// The code that launches ask of a kernel.
struct Variant {
  bool aligned;    // rows move in pieces of 16 bytes
  bool sequences;  // there is a map of sequences, or states are in slots
};

// For launches whose rows move in pieces of 16 bytes, and whose batches are sequences, there is a kernel at once, which
// has no code for others; for those there are other ones as soon as they are needed.
class CudaBackend final : public Backend {
 public:
  using MakeCubin = std::function<std::vector<char>(Variant)>;

  CudaBackend(const Device& device, const CubinResult& usual, MakeCubin make_cubin, const Manifest& manifest)
      : device_(device),
        usual_(device, usual.cubin, manifest.kernel, manifest.shared_bytes),
        make_cubin_(std::move(make_cubin)),
        symbol_(manifest.kernel),
        shared_bytes_(manifest.shared_bytes),
        threads_(static_cast<unsigned>(manifest.warps) * warp_threads),
        start_(manifest.waits ? Start::early : Start::in_order),
        usage_(usage_from(usual.log, manifest.kernel)),
        maps_(manifest) {}

  void prepare(std::span<const std::byte> arguments) const override {
    if (maps_.empty()) kernel_for(arguments);
  }
  void run(unsigned blocks, std::span<const std::byte> arguments, StreamHandle stream) const override {
    if (maps_.empty()) return kernel_for(arguments).launch(blocks, threads_, arguments, stream, start_);
    alignas(BoxMap) std::array<std::byte, BoxMaps::most_bytes> joined;
    const ContextScope scope(device_);  // the driver makes maps in a context
    usual_.launch(blocks, threads_, maps_.join(arguments, joined), stream, start_);
  }
  void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const override {
    device_.copy(to, from, bytes, stream);
  }
  void fill(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const override {
    device_.set_bytes(to, value, bytes, stream);
  }
  std::string why_unreachable(const void* data) const override { return device_.why_unreachable(data); }
  CubinUsage usage() const override { return usage_; }

 private:
  const DeviceKernel& kernel_for(std::span<const std::byte> arguments) const {
    const Variant variant{moves_in_pieces(arguments), maps_sequences(arguments)};
    if (variant.aligned && !variant.sequences) return usual_;
    const std::lock_guard lock(mutex_);
    std::optional<DeviceKernel>& kernel = rare_[variant.aligned ? 0 : 1][variant.sequences ? 0 : 1];
    if (!kernel) kernel.emplace(device_, make_cubin_(variant), symbol_, shared_bytes_);
    return *kernel;
  }

  Device device_;
  DeviceKernel usual_;
  MakeCubin make_cubin_;
  mutable std::mutex mutex_;                             // of rare_
  mutable std::optional<DeviceKernel> rare_[2][2] = {};  // [rows are not aligned][batches are sequences]
  std::string symbol_;
  std::int64_t shared_bytes_;
  unsigned threads_;
  Start start_;
  CubinUsage usage_;
  BoxMaps maps_;
};

std::vector<char> bytes_of(std::span<const char> cubin) { return {cubin.begin(), cubin.end()}; }

}  // namespace

Backends make_cuda_backends(std::shared_ptr<const std::string> source, std::span<const Manifest> manifests) {
  const Device device = Device::current();  // before compiling: without a GPU that is the first thing to say
  const std::vector<CubinResult> usual = cached_cubins(*source, manifests);
  Backends backends;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    const auto make_cubin = [source, manifest = manifests[i]](Variant variant) {
      const NvrtcOptions options = variant_options(manifest, variant.aligned, variant.sequences);
      return cached_cubin(*source, manifest, options).cubin;
    };
    backends.push_back(std::make_shared<CudaBackend>(device, usual[i], make_cubin, manifests[i]));
  }
  return backends;
}

Backends make_cuda_backends(const PackedProgram& packed, std::span<const Manifest> manifests) {
  const Device device = Device::current();
  const CubinResult usual{bytes_of(packed.aligned), std::string(packed.log)};
  const auto make_cubin = [general = packed.general](Variant variant) {
    if (variant.sequences) {
      user_error(
          "kernels that were packed take no map of sequences, no slots of states and no shared heads: launch the "
          "sequences "
          "one by one, with heads of their own, or JIT-compile");
    }
    if (general.empty()) {
      user_error("these kernels were packed for tensors whose rows are aligned to 16 bytes: pack them again");
    }
    return bytes_of(general);
  };
  Backends backends;
  for (const Manifest& manifest : manifests) {
    backends.push_back(std::make_shared<CudaBackend>(device, usual, make_cubin, manifest));
  }
  return backends;
}

}  // namespace wkvc
