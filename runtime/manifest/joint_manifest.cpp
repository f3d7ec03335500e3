#include "runtime/manifest/joint_manifest.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/error.h"

namespace wkvc {
namespace {

void check_same(const char* what, const auto& first, const auto& second, const Manifest& a, const Manifest& b) {
  if (first == second) return;
  user_error("the kernels \"{}\" and \"{}\" of one text have different {}: {} and {}", a.kernel, b.kernel, what, first,
             second);
}

bool has_groups(const Manifest& manifest) {
  return std::ranges::any_of(
      manifest.tensors, [](const TensorSpec& spec) { return std::ranges::find(spec.dims, "G") != spec.dims.end(); });
}

// Both count saved states alike; chunks may differ, tokens between states may not.
void check_distances(const Manifest& a, const Manifest& b) {
  if (a.saved_every == 0 || b.saved_every == 0) return;
  check_same("distances of saved states in tokens", std::int64_t{a.saved_every} * a.chunk,
             std::int64_t{b.saved_every} * b.chunk, a, b);
  if (has_groups(a) || has_groups(b)) check_same("distances of saved states", a.saved_every, b.saved_every, a, b);
}

void check_kernels(const Manifest& a, const Manifest& b) {
  check_same("operators", a.op, b.op, a, b);
  check_same("architectures", a.arch, b.arch, a, b);
  for (const auto& [name, member] : common_numbers()) check_same(name, a.*member, b.*member, a, b);
  check_distances(a, b);
  if (a.states_every > 0 && b.states_every > 0)
    check_same("distances of intermediate states", a.states_every, b.states_every, a, b);
}

Role seen_from_outside(const TensorSpec& first, const TensorSpec& second) {
  if (first.role == second.role) return first.role;
  if (second.role == Role::input && is_result(first.role) && !is_optional(first.role)) return first.role;
  user_error("the kernels of one text have tensor \"{}\" as {} and then as {}: only a result may be an input later",
             first.name, name_of(first.role), name_of(second.role));
}

void add_tensor(Manifest& joint, const TensorSpec& spec) {
  const auto known = std::ranges::find(joint.tensors, spec.name, &TensorSpec::name);
  if (known == joint.tensors.end()) {
    joint.tensors.push_back(spec);
    return;
  }
  if (known->dtype != spec.dtype || known->dims != spec.dims) {
    user_error("the kernels of one text have tensor \"{}\" as {} [{}] and as {} [{}]", spec.name, name_of(known->dtype),
               fmt::join(known->dims, ", "), name_of(spec.dtype), fmt::join(spec.dims, ", "));
  }
  known->role = seen_from_outside(*known, spec);
}

bool has_final_state(const Manifest& manifest) {
  return std::ranges::any_of(manifest.tensors, [](const TensorSpec& spec) { return spec.role == Role::final_state; });
}

}  // namespace

Manifest joint_manifest(std::span<const Manifest> manifests) {
  Manifest joint = manifests.front();
  joint.segments = joint.blocks();
  joint.cluster = 1;
  // Summaries of segments come first and have no states.
  const auto telling = std::ranges::find_if(manifests, has_final_state);
  if (telling != manifests.end()) joint.config = telling->config;
  for (const Manifest& manifest : manifests.subspan(1)) {
    check_kernels(joint, manifest);
    for (const TensorSpec& spec : manifest.tensors) add_tensor(joint, spec);
    joint.segments = std::max(joint.segments, manifest.blocks());  // most blocks that a launch has
    if (joint.states_every == 0) joint.states_every = manifest.states_every;
    if (joint.saved_every > 0 || manifest.saved_every == 0) continue;
    joint.saved_every = manifest.saved_every;
    joint.chunk = manifest.chunk;
  }
  return joint;
}

}  // namespace wkvc
