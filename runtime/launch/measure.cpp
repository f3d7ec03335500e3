#include "runtime/launch/measure.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/error.h"

namespace wkvc {

double time_ms(const Device& device, StreamHandle stream, const std::function<void(StreamHandle)>& work, int warmups,
               int repetitions) {
  if (repetitions < 1 || warmups < 0) {
    user_error("{} warmups and {} repetitions, expected at least 0 and 1", warmups, repetitions);
  }
  for (int i = 0; i < warmups; ++i) work(stream);
  // All are queued before any is read, so that the device does not wait for the host in between.
  std::vector<std::unique_ptr<Event>> starts, stops;
  for (int i = 0; i < repetitions; ++i) {
    starts.push_back(std::make_unique<Event>(device));
    stops.push_back(std::make_unique<Event>(device));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    starts[i]->record(stream);
    work(stream);
    stops[i]->record(stream);
  }
  std::vector<double> times;
  for (std::size_t i = 0; i < starts.size(); ++i) times.push_back(stops[i]->ms_since(*starts[i]));
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

double copy_bytes_ms(const Device& device, std::int64_t bytes) {
  if (bytes < 2) user_error("a copy of {} bytes cannot be timed: give at least 2", bytes);
  const auto half = static_cast<std::size_t>(bytes / 2);
  const DeviceBuffer from(device, half), to(device, half);
  const Stream stream(device);
  device.set_bytes(from.data(), 0, half, stream.handle());
  const auto copy = [&](StreamHandle on) { device.copy(to.data(), from.data(), half, on); };
  return time_ms(device, stream.handle(), copy, 3, 20);
}

}  // namespace wkvc
