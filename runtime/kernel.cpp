#include "runtime/kernel.h"

#include <utility>

#include "runtime/backend.h"
#include "runtime/empty_launch.h"
#include "runtime/error.h"
#include "runtime/launch_arguments.h"

namespace wkvc {
namespace {

Manifest checked_manifest(const std::string& source) {
  Manifest manifest = manifest_from(source);
  if (manifest.tensors.size() > LaunchArguments::max_tensors) {
    user_error("the kernel manifest has {} tensors, at most {} fit in a kernel's parameters", manifest.tensors.size(),
               LaunchArguments::max_tensors);
  }
  check_states_match(manifest);
  return manifest;
}

}  // namespace

Kernel::Kernel(std::string source, Target target)
    : source_(std::move(source)),
      target_(target),
      manifest_(checked_manifest(source_)),
      backend_(target == Target::cuda ? make_cuda_backend(source_, manifest_) : make_host_backend(source_, manifest_)) {
}

Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;

Kernel Kernel::load(std::string source, Target target) { return Kernel(std::move(source), target); }

CubinUsage Kernel::usage() const { return backend_->usage(); }

void Kernel::launch(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream) const {
  check_launch(manifest_, tensors, size);
  if (size.batches == 0 || size.tokens == 0 || size.heads == 0) {
    finish_empty_launch(*backend_, manifest_, tensors, stream);
    return;
  }
  const LaunchArguments arguments(manifest_, tensors, size);
  backend_->run(static_cast<unsigned>(size.batches * size.heads), arguments.bytes(), stream);
}

}  // namespace wkvc
