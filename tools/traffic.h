// The bytes a kernel cannot avoid to move.
#pragma once

#include <cstdint>

#include "runtime/launch_size.h"
#include "runtime/manifest.h"

namespace wkvc {

// Every tensor once; throws UserError when the sum exceeds 63 bits.
std::int64_t bytes_moved(const Manifest& manifest, LaunchSize size);

}  // namespace wkvc
