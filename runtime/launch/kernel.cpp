#include "runtime/launch/kernel.h"

#include <utility>

#include "runtime/cuda/empty_launch.h"
#include "runtime/cuda/memory_check.h"
#include "runtime/error.h"
#include "runtime/launch/backend.h"
#include "runtime/launch/launch_arguments.h"
#include "runtime/launch/sequence_check.h"
#include "runtime/launch/tiles.h"
#include "runtime/manifest/refusal_names.h"

namespace wkvc {
namespace {

void check_manifest(const Manifest& manifest) {
  if (manifest.tensors.size() > LaunchArguments::max_tensors) {
    user_error("the kernel manifest has {} tensors, at most {} fit in a kernel's parameters", manifest.tensors.size(),
               LaunchArguments::max_tensors);
  }
  check_states_match(manifest);
}

unsigned blocks_of(const Manifest& manifest, const LaunchSize& size, const LaunchArguments& arguments) {
  const std::int64_t of_head = manifest.grid == Grid::head ? manifest.segments : arguments.blocks_of_head();
  return static_cast<unsigned>(size.heads * of_head * manifest.head_blocks().of_segment);
}

Backends backends_for(Target target, const std::shared_ptr<const std::string>& text,
                      std::span<const Manifest> manifests, const PackedProgram* packed) {
  if (target == Target::host) return make_host_backends(*text, manifests);
  return packed != nullptr ? make_cuda_backends(*packed, manifests) : make_cuda_backends(text, manifests);
}

}  // namespace

Kernel::Kernel(std::shared_ptr<const std::string> source, Target target, Manifest manifest,
               std::shared_ptr<const Backend> backend)
    : source_(std::move(source)),
      target_(target),
      manifest_(std::move(manifest)),
      plan_(manifest_),
      backend_(std::move(backend)) {}

std::vector<Kernel> Kernel::load_all(std::string source, Target target, const PackedProgram* packed) {
  const auto text = std::make_shared<const std::string>(std::move(source));
  std::vector<Manifest> manifests = manifests_from(*text);
  for (const Manifest& manifest : manifests) check_manifest(manifest);
  const Backends backends = backends_for(target, text, manifests, packed);
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    kernels.push_back(Kernel(text, target, std::move(manifests[i]), backends[i]));
  }
  return kernels;
}

Kernel Kernel::load(std::string source, Target target) {
  manifest_from(source);  // throws where there are several
  return std::move(load_all(std::move(source), target).front());
}

CubinUsage Kernel::usage() const { return backend_->usage(); }

void Kernel::launch(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream, Checks checks) const {
  check_launch(plan_, tensors, size);
  if (target_ == Target::host) expect_sequences(size);
  if (checks == Checks::memory) check_memory(*backend_, plan_, tensors, size);
  if (const std::string why = why_not(tensors, size); !why.empty()) user_error("{}", why);
  if (size.is_empty()) {
    finish_empty_launch(*backend_, manifest_, tensors, stream);
  } else {
    run(tensors, size, stream);
  }
}

std::string Kernel::why_not(std::span<const Tensor> tensors, LaunchSize size,
                            std::span<const std::size_t> places) const {
  if (manifest_.maps.empty()) return {};
  return why_no_tiles(manifest_, LaunchArguments(plan_, tensors, size, places).bytes());
}

void Kernel::refuse_all(std::span<const Tensor> tensors, StreamHandle stream,
                        std::span<const std::size_t> places) const {
  constexpr unsigned char not_zero = 0xff;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!is_of_refusals(manifest_.tensors[i].name)) continue;
    const Tensor& refused = tensors[places[i]];
    backend_->fill(refused.data, not_zero, static_cast<std::size_t>(byte_count(refused.dtype, refused.shape)), stream);
  }
}

void Kernel::prepare(std::span<const Tensor> tensors, LaunchSize size, std::span<const std::size_t> places) const {
  backend_->prepare(LaunchArguments(plan_, tensors, size, places).bytes());
}

void Kernel::run(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream,
                 std::span<const std::size_t> places) const {
  const LaunchArguments arguments(plan_, tensors, size, places);
  backend_->run(blocks_of(manifest_, size, arguments), arguments.bytes(), stream);
}

}  // namespace wkvc
