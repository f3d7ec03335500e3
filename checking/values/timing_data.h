// Tensors that kernels are timed on: as layers give them, or a user's own.
#pragma once

#include <optional>
#include <string>

#include "checking/values/cases.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

struct TimingData {
  Case values;         // of another size, which launches repeat or cut
  bool drawn = true;   // not from a file
  std::string origin;  // for people: "in.safetensors, 1,512,8 repeated to 2,6000,16"
};

// Tensors for launches of this size: those of `file`, or mild ones at random (see random_case). Throws UserError for a
// file with sequences one behind the other, with slots, or with nothing in it.
TimingData timing_data(rec::RecurrenceOp recurrence, const Manifest& manifest, LaunchSize size,
                       const std::optional<std::string>& file);

// The tensor of the data at a launch's size: zeros where a file has none, and NaN in results.
HostTensor tensor_of(const TimingData& data, const TensorSpec& spec, const Manifest& manifest, LaunchSize size);

}  // namespace wkvc
