#include "runtime/program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/backend.h"
#include "runtime/empty_launch.h"
#include "runtime/error.h"
#include "runtime/joint_manifest.h"
#include "runtime/launch_arguments.h"

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

bool has_role(const Manifest& manifest, Role role) {
  return std::ranges::find(manifest.tensors, role, &TensorSpec::role) != manifest.tensors.end();
}

const Tensor* first_of(const Manifest& manifest, Role role, std::span<const Tensor> tensors) {
  const auto found = std::ranges::find(manifest.tensors, role, &TensorSpec::role);
  if (found == manifest.tensors.end()) return nullptr;
  const Tensor& tensor = tensors[static_cast<std::size_t>(found - manifest.tensors.begin())];
  return tensor.data == nullptr ? nullptr : &tensor;
}

}  // namespace

Program::Program(std::vector<Kernel> kernels) : kernels_(std::move(kernels)), manifest_(joint(kernels_)) {
  check_states_match(manifest_);
  for (const Kernel& kernel : kernels_) {
    std::vector<std::size_t>& indices = indices_.emplace_back();
    for (const TensorSpec& spec : kernel.manifest().tensors) indices.push_back(index_of(manifest_, spec.name));
  }
}

Program Program::load(std::string source, Target target) {
  joint_manifest(manifests_from(source));  // before compiling
  return Program(Kernel::load_all(std::move(source), target));
}

Program Program::load(const PackedProgram& packed, Target target) {
  const CubinResult compiled{{packed.cubin.begin(), packed.cubin.end()}, std::string(packed.log)};
  joint_manifest(manifests_from(packed.text));
  return Program(Kernel::load_all(std::string(packed.text), target, &compiled));
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
    if (spec.role == Role::workspace || (spec.role == Role::saved_states && saves)) specs.push_back(spec);
  }
  return specs;
}

void Program::launch(const NamedTensors& tensors, LaunchSize size, StreamHandle stream) const {
  const std::vector<Tensor> ordered = in_order(tensors);
  check_launch(manifest_, ordered, size);
  check_states_in_place(ordered);
  if (size.is_empty()) {
    finish_empty_launch(*kernels_.front().backend_, manifest_, ordered, stream);
    return;
  }
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    std::vector<Tensor> arguments;
    for (const std::size_t index : indices_[i]) arguments.push_back(ordered[index]);
    kernels_[i].run(arguments, size, stream);
  }
}

// Those of the joint manifest; a name that is none of its tensors is a mistake.
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

// A later kernel would find the final state where it expects the initial one.
void Program::check_states_in_place(std::span<const Tensor> tensors) const {
  const Tensor* initial = first_of(manifest_, Role::initial_state, tensors);
  const Tensor* last = first_of(manifest_, Role::final_state, tensors);
  if (initial == nullptr || last == nullptr || initial->data != last->data) return;
  bool written = false;
  for (const Kernel& kernel : kernels_) {
    if (written && has_role(kernel.manifest(), Role::initial_state)) {
      user_error(
          "the final state is the initial one in place, but the kernel \"{}\" reads the initial state later: pass the "
          "final state memory of its own",
          kernel.manifest().kernel);
    }
    written = written || has_role(kernel.manifest(), Role::final_state);
  }
}

}  // namespace wkvc
