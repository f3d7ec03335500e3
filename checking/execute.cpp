#include "checking/execute.h"

#include <cstring>
#include <map>

#include "checking/gpu.h"
#include "runtime/cuda/device_tensor.h"
#include "runtime/cuda/driver.h"
#include "runtime/error.h"
#include "runtime/launch/internals.h"

namespace wkvc {
namespace {

bool has_suitable_gpu(std::string* why_not) {
  if (!cuda_available(why_not)) return false;
  *why_not = why_unsuitable(Device::current().properties());
  return why_not->empty();
}

// The runtime knows of a host target; here it is called --device cpu, or there is none.
std::string offering(std::string why_not, std::string_view instead) {
  static constexpr std::string_view known = ", or use the host target";
  if (why_not.ends_with(known)) why_not.replace(why_not.size() - known.size(), known.size(), instead);
  return why_not;
}

TensorMap executed_on_host(const Program& program, TensorMap values, LaunchSize size, std::vector<Refusals>* refusals) {
  std::map<std::string, HostTensor> internals = host_internals(program, size);
  NamedTensors tensors;
  for (auto& [name, tensor] : values) tensors[name] = tensor.view();
  for (auto& [name, tensor] : internals) {
    tensor.poison();
    tensors[name] = tensor.view();
  }
  program.launch(tensors, size);
  if (refusals != nullptr) *refusals = refusals_of(internals);
  return values;
}

DeviceTensor uploaded_words(const Device& device, const void* words, std::size_t bytes) {
  HostTensor copy(DType::f32, {static_cast<std::int64_t>(bytes / 4)});
  std::memcpy(copy.bytes().data(), words, bytes);
  return DeviceTensor::upload(device, copy);
}

// Copies of a launch's maps in the memory of a GPU.
class DeviceMaps {
 public:
  DeviceMaps(const Device& device, LaunchSize size) : size_(size) {
    if (size.map) starts_ = uploaded_words(device, size.map->starts, (size.map->count + 1) * sizeof(std::int64_t));
    if (size.slots) slots_ = uploaded_words(device, size.slots->slots, size.sequences() * sizeof(std::int32_t));
    if (starts_) size_.map->starts = starts_->view().data;
    if (slots_) size_.slots->slots = static_cast<const std::int32_t*>(slots_->view().data);
  }
  LaunchSize size() const { return size_; }

 private:
  LaunchSize size_;
  std::optional<DeviceTensor> starts_, slots_;
};

TensorMap executed_on_gpu(const Program& program, const TensorMap& values, LaunchSize given,
                          std::vector<Refusals>* refusals) {
  const Device device = Device::current();
  const Stream stream(device);
  const DeviceMaps maps(device, given);
  const LaunchSize size = maps.size();
  std::map<std::string, DeviceTensor> internals = device_internals(program, device, size), uploaded;
  NamedTensors tensors;
  for (auto& [name, tensor] : internals) {
    tensor.poison(stream.handle());
    tensors[name] = tensor.view();
  }
  for (const auto& [name, tensor] : values) {
    tensors[name] = uploaded.emplace(name, DeviceTensor::upload(device, tensor)).first->second.view();
  }
  program.launch(tensors, size, stream.handle());
  if (refusals != nullptr) *refusals = refusals_of(internals, stream.handle());
  TensorMap after;
  for (const auto& [name, tensor] : uploaded) after[name] = tensor.download(stream.handle());
  return after;
}

void poison_results(const Manifest& manifest, Case& values) {
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_result(spec.role)) values.tensors.at(spec.name).poison();
  }
}

}  // namespace

Target target_from(const std::optional<std::string>& device) {
  if (device && *device != "cpu" && *device != "cuda") {
    user_error("--device {}: not known here; expected cpu, cuda", *device);
  }
  if (device == "cpu") return Target::host;
  std::string why_not;
  if (has_suitable_gpu(&why_not)) return Target::cuda;
  if (device) user_error("--device cuda: {}", offering(why_not, ", or use --device cpu"));
  return Target::host;
}

void expect_gpu(std::string_view command) {
  std::string why_not;
  if (!has_suitable_gpu(&why_not)) user_error("{} needs a GPU: {}", command, offering(why_not, ""));
}

const char* device_name(Target target) { return target == Target::cuda ? "cuda" : "cpu"; }

Program load_program(const Subject& subject, const Runnable& runnable, Target target) {
  try {
    Program program = Program::load(runnable.text, target);
    return runnable.passes == Passes::forward ? program.only(Direction::forward) : program;
  } catch (const InternalError& error) {
    if (subject.source.stage == Stage::cuda) user_error("{}: {}", subject.origin, error.what());
    throw;
  }
}

TensorMap executed(const Program& program, const Case& values, std::vector<Refusals>* refusals) {
  TensorMap poisoned = values.tensors;
  for (const TensorSpec& spec : program.manifest().tensors) {
    if (is_result(spec.role)) poisoned.at(spec.name).poison();
    // Slots of no sequence stay as they were.
    if (spec.role == Role::final_state && values.size.slots)
      poisoned.at(spec.name) = values.tensors.at("initial_state");
    // Between the intermediate states of two sequences there may be some of neither.
    if (spec.role == Role::intermediate_states && values.size.map)
      poisoned.at(spec.name) = HostTensor(spec.dtype, poisoned.at(spec.name).shape());
  }
  return program.target() == Target::cuda ? executed_on_gpu(program, poisoned, values.size, refusals)
                                          : executed_on_host(program, std::move(poisoned), values.size, refusals);
}

std::string execute(const Subject& subject, const Program& program, Case& values, std::vector<Refusals>* refusals) {
  try {
    TensorMap after = executed(program, values, refusals);
    for (const TensorSpec& spec : program.manifest().tensors) {
      if (is_result(spec.role)) values.tensors.at(spec.name) = std::move(after.at(spec.name));
    }
    return "";
  } catch (const InternalError& error) {
    if (!subject.from_file) throw;
    poison_results(program.manifest(), values);
    return fmt::format("{}: {}", subject.origin, error.what());
  }
}

}  // namespace wkvc
