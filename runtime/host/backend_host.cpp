#include <cstring>
#include <utility>

#include "runtime/error.h"
#include "runtime/host/host_jit.h"
#include "runtime/launch/backend.h"

namespace wkvc {
namespace {

class HostBackend final : public Backend {
 public:
  HostBackend(HostKernel kernel, std::int64_t shared_bytes) : kernel_(std::move(kernel)), shared_bytes_(shared_bytes) {}

  void run(unsigned blocks, std::span<const std::byte> arguments, StreamHandle) const override {
    kernel_.run(arguments.data(), shared_bytes_, blocks);
  }
  void copy(void* to, const void* from, std::size_t bytes, StreamHandle) const override {
    std::memmove(to, from, bytes);
  }
  void fill(void* to, unsigned char value, std::size_t bytes, StreamHandle) const override {
    std::memset(to, value, bytes);
  }
  std::string why_unreachable(const void*) const override { return {}; }
  CubinUsage usage() const override {
    user_error("registers and spills are known for kernels of the cuda target only: load it for cuda");
  }

 private:
  HostKernel kernel_;
  std::int64_t shared_bytes_;
};

}  // namespace

Backends make_host_backends(const std::string& source, std::span<const Manifest> manifests) {
  Backends backends;
  for (const Manifest& manifest : manifests) {
    backends.push_back(
        std::make_shared<HostBackend>(HostKernel::compile(source, manifest.kernel), manifest.shared_bytes));
  }
  return backends;
}

}  // namespace wkvc
