#include "runtime/program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/cuda/empty_launch.h"
#include "runtime/cuda/memory_check.h"
#include "runtime/error.h"
#include "runtime/launch/backend.h"
#include "runtime/launch/launch_arguments.h"
#include "runtime/launch/sequence_check.h"
#include "runtime/manifest/joint_manifest.h"
#include "runtime/manifest/kernel_names.h"

namespace wkvc {
namespace {

std::size_t index_of(const Manifest& manifest, const std::string& name) {
  const auto found = std::ranges::find(manifest.tensors, name, &TensorSpec::name);
  return static_cast<std::size_t>(found - manifest.tensors.begin());
}

Manifest joint(std::span<const Kernel> kernels) {
  std::vector<Manifest> manifests;
  for (const Kernel& kernel : kernels) manifests.push_back(kernel.manifest());
  return joint_manifest(manifests);
}

// Where the tensors of a role, among a kernel's, are in the joint manifest.
std::vector<std::size_t> places_of(Role role, const Manifest& kernel, std::span<const std::size_t> places) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (kernel.tensors[i].role == role) found.push_back(places[i]);
  }
  return found;
}

}  // namespace

Program::Program(std::vector<Kernel> kernels)
    : kernels_(std::move(kernels)), manifest_(joint(kernels_)), plan_(manifest_) {
  check_states_match(manifest_);
  for (const Kernel& kernel : kernels_) {
    std::vector<std::size_t>& places = places_.emplace_back();
    for (const TensorSpec& spec : kernel.manifest().tensors) places.push_back(index_of(manifest_, spec.name));
  }
  late_readers_ = find_late_readers();
}

Program Program::load(std::string source, Target target) {
  const std::vector<Manifest> manifests = manifests_from(source);  // before compiling
  joint_manifest(manifests);
  expect_kernels(manifests, source);
  return Program(Kernel::load_all(std::move(source), target));
}

Program Program::load(const PackedProgram& packed, Target target) {
  joint_manifest(manifests_from(packed.text));
  return Program(Kernel::load_all(std::string(packed.text), target, &packed));
}

bool Program::has(Direction pass) const {
  return std::ranges::any_of(kernels_, [&](const Kernel& kernel) { return kernel.manifest().pass == pass; });
}

Program Program::only(Direction pass) const {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : kernels_) {
    if (kernel.manifest().pass == pass) kernels.push_back(kernel);
  }
  if (kernels.empty()) {
    user_error("the text holds no kernel of the {} pass; compile it with --pass both",
               pass == Direction::forward ? "forward" : "backward");
  }
  return Program(std::move(kernels));
}

std::vector<TensorSpec> Program::internals() const {
  const bool saves = has(Direction::forward);
  std::vector<TensorSpec> specs;
  for (const TensorSpec& spec : manifest_.tensors) {
    if (spec.role == Role::workspace || (is_between_passes(spec.role) && saves)) specs.push_back(spec);
  }
  return specs;
}

void Program::launch(const NamedTensors& tensors, LaunchSize size, StreamHandle stream, Checks checks) const {
  launch(in_order(tensors), size, stream, checks);
}

void Program::launch(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream, Checks checks) const {
  const Backend& backend = *kernels_.front().backend_;
  check_launch(plan_, tensors, size);
  if (target() == Target::host) expect_sequences(size);
  check_states_in_place(tensors);
  if (checks == Checks::memory) check_memory(backend, plan_, tensors, size);
  if (size.is_empty()) {
    finish_empty_launch(backend, manifest_, tensors, stream);
    return;
  }
  // The first prepares itself; of the others nothing is to be missing when it has run.
  for (std::size_t i = 1; i < kernels_.size(); ++i) kernels_[i].prepare(tensors, size, places_[i]);
  for (std::size_t i = 0; i < kernels_.size(); ++i) run(i, tensors, size, stream);
}

// A kernel that does not take the launch leaves all blocks to the next one, if that is for refused blocks.
void Program::run(std::size_t i, std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream) const {
  const std::string why = kernels_[i].why_not(tensors, size, places_[i]);
  if (why.empty()) return kernels_[i].run(tensors, size, stream, places_[i]);
  const bool is_followed = i + 1 < kernels_.size() && kernels_[i + 1].manifest().refused;
  if (!is_followed) user_error("{}", why);
  kernels_[i].refuse_all(tensors, stream, places_[i]);
}

std::vector<Tensor> Program::in_order(const NamedTensors& tensors) const {
  std::vector<Tensor> ordered(manifest_.tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const std::size_t index = index_of(manifest_, name);
    if (index == ordered.size()) {
      std::vector<std::string> names;
      for (const TensorSpec& spec : manifest_.tensors) names.push_back(spec.name);
      user_error("tensor \"{}\" was given, but the kernels have: {}", name, fmt::join(names, ", "));
    }
    ordered[index] = tensor;
  }
  for (const TensorSpec& spec : manifest_.tensors) {
    if (is_optional(spec.role) || tensors.contains(spec.name)) continue;
    user_error("tensor \"{}\" is missing: it is the kernels' {}, {} [{}]", spec.name, name_of(spec.role),
               name_of(spec.dtype), fmt::join(spec.dims, ", "));
  }
  return ordered;
}

std::vector<Program::LateReader> Program::find_late_readers() const {
  std::vector<LateReader> readers;
  std::vector<std::size_t> written, before;  // final states; those before the last kernel's
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Manifest& manifest = kernels_[i].manifest();
    // Of what it does nothing was written by the kernel before it.
    if (manifest.refused && i > 0 && !kernels_[i - 1].manifest().refused) written = before;
    before = written;
    for (const std::size_t read : places_of(Role::initial_state, manifest, places_[i])) {
      for (const std::size_t state : written) readers.push_back({manifest.kernel, read, state});
    }
    const std::vector<std::size_t> writes = places_of(Role::final_state, manifest, places_[i]);
    written.insert(written.end(), writes.begin(), writes.end());
  }
  return readers;
}

void Program::check_states_in_place(std::span<const Tensor> tensors) const {
  for (const LateReader& reader : late_readers_) {
    const void* initial = tensors[reader.initial_state].data;
    if (initial == nullptr || initial != tensors[reader.final_state].data) continue;
    user_error(
        "the final state is the initial one in place, but the kernel \"{}\" reads the initial state later: pass the "
        "final state memory of its own",
        reader.kernel);
  }
}

}  // namespace wkvc
