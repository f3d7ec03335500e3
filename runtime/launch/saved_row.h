// The memory between passes as a formula, for callers that allocate the memory by symbolic sizes.
#pragma once

#include <cstdint>

#include "runtime/manifest/manifest.h"

namespace wkvc {

// What a tensor that the forward pass saves has of every so many tokens of a sequence and head, in all parts of the
// head.
struct SavedRow {
  std::int64_t tokens = 1, bytes = 0;
};

SavedRow saved_row(const TensorSpec& spec, const Manifest& manifest);

}  // namespace wkvc
