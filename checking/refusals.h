// How many blocks of guarded kernels had numbers that do not fit f16, and ran again with scales (docs/architecture.md,
// Guards).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/cuda/device_tensor.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

struct Refusals {
  std::string tensor;  // such as "forward_refused"
  std::int64_t refused = 0, blocks = 0;
};

// Reads what kernels left in memory that was poisoned before, in the order of the names. Blocks that a launch did not
// have count as none.
std::vector<Refusals> refusals_of(const std::map<std::string, HostTensor>& internals);
std::vector<Refusals> refusals_of(const std::map<std::string, DeviceTensor>& internals, StreamHandle stream);

// "forward_refused: 12 of 64 blocks, which ran again with scales"; a line for each kernel that refused any.
std::vector<std::string> refusal_texts(const std::vector<Refusals>& refusals);

}  // namespace wkvc
