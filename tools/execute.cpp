#include "tools/execute.h"

#include <map>
#include <vector>

#include "runtime/device_tensor.h"
#include "runtime/driver.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// sm_90a code runs on compute capability 9.0 and on nothing else.
bool has_suitable_gpu(std::string* why_not) {
  if (!cuda_available(why_not)) return false;
  const DeviceProperties gpu = Device::current().properties();
  if (gpu.compute_major == 9 && gpu.compute_minor == 0) return true;
  *why_not = fmt::format("{} has compute capability {}.{}; the kernels are for 9.0 (H100, H200)", gpu.name,
                         gpu.compute_major, gpu.compute_minor);
  return false;
}

void execute_on_host(const Kernel& kernel, Case& values) {
  std::vector<Tensor> arguments;
  for (const TensorSpec& spec : kernel.manifest().tensors) {
    const auto found = values.tensors.find(spec.name);
    arguments.push_back(found == values.tensors.end() ? Tensor{} : found->second.view());
  }
  kernel.launch(arguments, values.size);
}

void execute_on_gpu(const Kernel& kernel, Case& values) {
  const Device device = Device::current();
  const Stream stream(device);
  std::map<std::string, DeviceTensor> uploaded;
  std::vector<Tensor> arguments;
  for (const TensorSpec& spec : kernel.manifest().tensors) {
    const auto found = values.tensors.find(spec.name);
    if (found == values.tensors.end()) {
      arguments.emplace_back();
      continue;
    }
    const auto& tensor = uploaded.emplace(spec.name, DeviceTensor::upload(device, found->second)).first->second;
    arguments.push_back(tensor.view());
  }
  kernel.launch(arguments, values.size, stream.handle());
  for (const TensorSpec& spec : kernel.manifest().tensors) {
    if (!is_result(spec.role)) continue;
    values.tensors.at(spec.name) = uploaded.at(spec.name).download(stream.handle());
  }
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
  if (device) user_error("--device cuda: {}", why_not);
  return Target::host;
}

const char* device_name(Target target) { return target == Target::cuda ? "cuda" : "cpu"; }

Kernel load_kernel(const Subject& subject, const std::string& text, Target target) {
  try {
    return Kernel::load(text, target);
  } catch (const InternalError& error) {
    if (subject.source.stage == Stage::cuda) user_error("{}: {}", subject.origin, error.what());
    throw;
  }
}

std::string execute(const Subject& subject, const Kernel& kernel, Case& values) {
  try {
    kernel.target() == Target::cuda ? execute_on_gpu(kernel, values) : execute_on_host(kernel, values);
    return "";
  } catch (const InternalError& error) {
    if (!subject.from_file) throw;
    poison_results(kernel.manifest(), values);
    return fmt::format("{}: {}", subject.origin, error.what());
  }
}

}  // namespace wkvc
