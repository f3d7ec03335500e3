#include "checking/timing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "checking/traffic.h"
#include "runtime/launch/internals.h"
#include "runtime/launch/measure.h"

namespace wkvc {
namespace {

std::map<std::string, DeviceTensor> placed(const Device& device, const Manifest& manifest, LaunchSize size,
                                           const TimingData& data) {
  std::map<std::string, DeviceTensor> tensors;
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_internal(spec.role)) continue;
    tensors.emplace(spec.name, DeviceTensor::upload(device, tensor_of(data, spec, manifest, size)));
  }
  return tensors;
}

// Those that `program` takes, which may be a part of the whole.
NamedTensors arguments_of(const Program& program, const std::map<std::string, DeviceTensor>& given,
                          const std::map<std::string, DeviceTensor>& internals) {
  NamedTensors arguments;
  for (const TensorSpec& spec : program.manifest().tensors) {
    arguments[spec.name] = (is_internal(spec.role) ? internals : given).at(spec.name).view();
  }
  return arguments;
}

}  // namespace

TimedTensors::TimedTensors(const Device& device, const TimingData& data, const Manifest& manifest, LaunchSize size)
    : device_(device), size_(size) {
  const std::int64_t bytes = bytes_moved(std::array{manifest}, size);
  const std::int64_t sets = std::min<std::int64_t>(64, 1 + 3 * device.properties().l2_bytes / bytes);
  for (std::int64_t i = 0; i < sets; ++i) sets_.push_back(placed(device, manifest, size, data));
}

double TimedTensors::median_ms(const Program& program, const Program& timed, int warmups, int repetitions) const {
  const Stream stream(device_);
  std::vector<std::map<std::string, DeviceTensor>> internals;
  std::vector<std::vector<Tensor>> arguments;
  for (const auto& given : sets_) {
    const auto& kept = internals.emplace_back(device_internals(program, device_, size_));
    program.launch(arguments_of(program, given, kept), size_, stream.handle());
    arguments.push_back(timed.in_order(arguments_of(timed, given, kept)));
  }
  std::size_t turn = 0;
  return time_ms(
      device_, stream.handle(),
      [&](StreamHandle handle) { timed.launch(arguments[turn++ % arguments.size()], size_, handle); }, warmups,
      repetitions);
}

Timing TimedTensors::timing(const Program& program, int repetitions) const {
  std::vector<Refusals> refused = refusals(program);
  return {median_ms(program, program, /*warmups=*/3, repetitions), std::move(refused)};
}

std::vector<Refusals> TimedTensors::refusals(const Program& program) const {
  const Stream stream(device_);
  std::map<std::string, DeviceTensor> kept = device_internals(program, device_, size_);
  for (auto& [name, tensor] : kept) tensor.poison(stream.handle());
  program.launch(arguments_of(program, sets_.front(), kept), size_, stream.handle());
  return refusals_of(kept, stream.handle());
}

}  // namespace wkvc
