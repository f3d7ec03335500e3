// Samples of tensors, which a guard takes.
#pragma once

#include <string>

#include "codegen/emit/NamedTensors.h"

namespace wkvc {

// Returns the largest element in a sample of a tensor's tokens. `tokens`: the first one and the end, "0, tokens".
std::string sample_text(const NamedTensor& tensor, const Manifest& manifest, const std::string& tokens);

}  // namespace wkvc
