#include "bench/false_alarm_cases.h"

#include <sstream>

#include "checking/values/case_file.h"
#include "codegen/config/config.h"
#include "runtime/error.h"

namespace wkvc::bench {
namespace {

Subject subject_of(const Setting& setting) {
  ConfigOptions options;
  std::istringstream words("--pass both " + setting.options);
  for (std::string name, value; words >> name >> value;) options[name] = value;
  return subject_from({.op = setting.op, .source = {}}, options);
}

// From `least` to `most`.
std::int64_t drawn(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

HostTensor poisoned(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  HostTensor tensor(spec.dtype, shape_of(spec, manifest, size));
  tensor.poison();
  return tensor;
}

// One head of a recording from one token on.
struct Window {
  std::int64_t first = 0, head = 0;
  std::vector<double> signs;  // of each token
};

}  // namespace

std::vector<Setting> all_settings() {
  return {{"rwkv7", "--head 64"},
          {"rwkv7", "--head 64 --mma bf16"},
          {"rwkv7", "--head 64 --scales always --save-every 16"},
          {"rwkv7", "--head 64 --io f32 --mma bf16x3"},
          {"rwkv7", "--head 64 --io f32 --mma f32"},
          {"rwkv7", "--head 64 --io f32"},
          {"rwkv7", "--head 64 --scales guarded --teams 2,2 --save-every 64"},
          {"rwkv7", "--head 16"},
          {"rwkv7", "--head 32 --io f16 --saved f16"},
          {"rwkv6", "--head 32"},
          {"rwkv6", "--head 16 --mma bf16"},
          {"gated_delta_net", "--head 64 --scales guarded --teams 2,2 --save-every 64"},
          {"gated_delta_net", "--head 32 --mma bf16"},
          {"gated_delta_net", "--head 16 --scales always"},
          {"kda", "--head 32"},
          {"kda", "--head 32 --mma bf16"},
          {"kda_gate5", "--head 16"},
          {"mamba2", "--head 32"},
          {"mamba2", "--head 16 --mma bf16"},
          {"gla", "--head 16"},
          {"retnet", "--head 16"},
          {"unnamed", "--head 32"}};
}

Kernels::Kernels(const Setting& setting, Target target)
    : subject_(subject_of(setting)),
      runnable_(runnable_from(subject_)),
      context_(mlir::MLIRContext::Threading::DISABLED),
      module_(rec::parse(subject_.reference(runnable_.manifest), subject_.origin, context_)),
      recurrence_(rec::recurrence_of(*module_)),
      program_(load_program(subject_, runnable_, target)) {}

void Kernels::run(Case& values) const {
  const std::string failure = execute(subject_, program_, values);
  if (!failure.empty()) internal_error("{}", failure);
}

Case Kernels::random_case(Random& random) const {
  const LaunchSize size{1, drawn(random, 1, 200), drawn(random, 1, 4)};
  const Decays decays = drawn(random, 0, 1) == 0 ? Decays::mild : Decays::steep_too;
  return wkvc::random_case(recurrence_, runnable_.manifest, size, random(), decays);
}

std::optional<Case> Kernels::recorded(const std::string& path) const {
  try {
    SafetensorsFile file = read_tensors(runnable_.manifest, path);
    return case_from_file(runnable_.manifest, file);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

Case Kernels::recorded_case(const Case& recorded, Random& random) const {
  const LaunchSize size{1, drawn(random, 100, 400), 3};
  std::vector<Window> windows(static_cast<std::size_t>(size.heads));
  for (Window& window : windows) {
    window = {drawn(random, 0, recorded.size.tokens - size.tokens), drawn(random, 0, recorded.size.heads - 1), {}};
    for (std::int64_t t = 0; t < size.tokens; ++t) window.signs.push_back(drawn(random, 0, 1) == 0 ? -1 : 1);
  }
  Case part{size, {}};
  for (const TensorSpec& spec : runnable_.manifest.tensors) {
    if (is_internal(spec.role)) continue;
    HostTensor& tensor = part.tensors[spec.name] = poisoned(spec, runnable_.manifest, size);
    if (is_result(spec.role)) continue;
    if (spec.dims.front() != "B" || spec.dims[1] != "T") {
      tensor = HostTensor(spec.dtype, tensor.shape());
      continue;
    }
    const HostTensor& whole = recorded.tensors.at(spec.name);
    const auto length = tensor.size() / static_cast<std::size_t>(size.tokens * size.heads);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      const std::size_t row = i / length, token = row / windows.size();
      const Window& window = windows[row % windows.size()];
      const auto from =
          (static_cast<std::size_t>(window.first) + token) * static_cast<std::size_t>(recorded.size.heads) +
          static_cast<std::size_t>(window.head);
      const double sign = spec.role == Role::output_gradient ? window.signs[token] : 1;
      tensor.set(i, sign * whole.get(from * length + i % length));
    }
  }
  return part;
}

}  // namespace wkvc::bench
