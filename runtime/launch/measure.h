// Times on a GPU.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/cuda/driver.h"

namespace wkvc {

// Median milliseconds of `work` over `repetitions` after `warmups`, each between two events on `stream`. Throws
// UserError when repetitions < 1 or warmups < 0.
double time_ms(const Device& device, StreamHandle stream, const std::function<void(StreamHandle)>& work, int warmups,
               int repetitions);

// Milliseconds that a copy on the device takes to move `bytes` in all: half of them read, half written. Dividing gives
// the bandwidth a kernel that moves its bytes once could reach.
double copy_bytes_ms(const Device& device, std::int64_t bytes);

}  // namespace wkvc
