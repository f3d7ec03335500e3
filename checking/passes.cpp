#include "checking/passes.h"

#include <algorithm>
#include <array>

#include "runtime/error.h"
#include "runtime/manifest/joint_manifest.h"

namespace wkvc {
namespace {

constexpr std::array<const char*, 3> names{"forward", "backward", "both"};

Passes passes_from(const std::string& name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) internal_error("'{}' is no pass", name);
  return static_cast<Passes>(found - names.begin());
}

bool has(const std::vector<Manifest>& manifests, Direction pass) {
  return std::ranges::find(manifests, pass, &Manifest::pass) != manifests.end();
}

void check_passes(const Subject& subject, const std::vector<Manifest>& manifests, Passes passes) {
  if (!has(manifests, Direction::forward)) {
    user_error(
        "{}: the text holds the backward pass alone, which reads the states that the forward pass saves; pass a text "
        "with both, as wkvc emit --pass both prints it",
        subject.origin);
  }
  if (passes != Passes::forward && !has(manifests, Direction::backward)) {
    user_error(
        "{}: the text holds no backward pass, which --pass {} asks for; pass a text with both, as wkvc emit "
        "--pass both prints it",
        subject.origin, subject.config.pass);
  }
}

}  // namespace

const char* name_of(Passes passes) { return names.at(static_cast<std::size_t>(passes)); }

std::string pass_text(Passes passes) {
  return passes == Passes::forward ? "" : fmt::format(", pass {}", name_of(passes));
}

bool gives(Passes passes, Role role) {
  if (!is_result(role)) return false;
  return passes == Passes::both || is_gradient(role) == (passes == Passes::backward);
}

Runnable runnable_from(const Subject& subject) {
  Runnable runnable{subject.program_text(), passes_from(subject.config.pass), {}};
  std::vector<Manifest> manifests = subject.manifests_in(runnable.text);
  check_passes(subject, manifests, runnable.passes);
  if (runnable.passes == Passes::forward) {
    std::erase_if(manifests, [](const Manifest& manifest) { return manifest.pass != Direction::forward; });
  }
  runnable.manifest = subject.joint(manifests);
  return runnable;
}

}  // namespace wkvc
