#include "checking/timing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "checking/traffic.h"
#include "checking/values/cases.h"
#include "runtime/launch/internals.h"
#include "runtime/launch/measure.h"

namespace wkvc {
namespace {

// `small`, repeated along every dimension until the shape is full: random data at the cost of copying.
HostTensor tiled(const HostTensor& small, const std::vector<std::int64_t>& shape) {
  HostTensor large(small.dtype(), shape);
  const std::size_t rank = shape.size();
  const auto row_bytes = static_cast<std::size_t>(shape.back()) * size_of(small.dtype());
  std::vector<std::int64_t> index(rank - 1, 0);
  for (std::size_t row = 0; row * row_bytes < large.bytes().size(); ++row) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d + 1 < rank; ++d) from = from * small.shape()[d] + index[d] % small.shape()[d];
    std::memcpy(large.bytes().data() + row * row_bytes,
                small.bytes().data() + static_cast<std::size_t>(from) * row_bytes, row_bytes);
    for (std::size_t d = rank - 1; d > 0; --d) {
      if (++index[d - 1] < shape[d - 1]) break;
      index[d - 1] = 0;
    }
  }
  return large;
}

std::map<std::string, DeviceTensor> placed(const Device& device, const Manifest& manifest, LaunchSize size,
                                           const Case& small) {
  std::map<std::string, DeviceTensor> tensors;
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_internal(spec.role)) continue;
    const HostTensor tensor = tiled(small.tensors.at(spec.name), shape_of(spec, manifest, size));
    tensors.emplace(spec.name, DeviceTensor::upload(device, tensor));
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

TimedTensors::TimedTensors(const Device& device, rec::RecurrenceOp recurrence, const Manifest& manifest,
                           LaunchSize size)
    : device_(device), size_(size) {
  const LaunchSize small{1, std::min<std::int64_t>(size.tokens, 512), std::min<std::int64_t>(size.heads, 8)};
  const Case drawn = random_case(recurrence, manifest, small, 0);
  const std::int64_t bytes = bytes_moved(std::array{manifest}, size);
  const std::int64_t sets = std::min<std::int64_t>(64, 1 + 3 * device.properties().l2_bytes / bytes);
  for (std::int64_t i = 0; i < sets; ++i) sets_.push_back(placed(device, manifest, size, drawn));
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

std::vector<Refusals> TimedTensors::refusals(const Program& program) const {
  const Stream stream(device_);
  std::map<std::string, DeviceTensor> kept = device_internals(program, device_, size_);
  for (auto& [name, tensor] : kept) tensor.poison(stream.handle());
  program.launch(arguments_of(program, sets_.front(), kept), size_, stream.handle());
  return refusals_of(kept, stream.handle());
}

}  // namespace wkvc
