// How many blocks of guarded kernels had numbers that do not fit f16, and ran again with scales (docs/architecture.md,
// Guards).
#pragma once

#include <cstdint>
#include <map>
#include <span>
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

// The first kernel of which more than a tenth of the blocks refused, or null.
const Refusals* refusing_many(std::span<const Refusals> refusals);

// What to say of a time where a kernel refuses many blocks, with how large the numbers are.
std::string warning_text(std::span<const Refusals> refusals, const std::string& magnitudes);

// "forward_refused: 12 of 64 blocks, which ran again with scales"; a line for each kernel that refused any.
std::vector<std::string> refusal_texts(std::span<const Refusals> refusals);

}  // namespace wkvc
