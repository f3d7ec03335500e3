// The bytes kernels cannot avoid to move.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

// Every tensor of every kernel once, but for kernels that do what others refuse: nothing, of ordinary inputs. Throws
// UserError when the sum exceeds 63 bits.
std::int64_t bytes_moved(std::span<const Manifest> kernels, LaunchSize size);

}  // namespace wkvc
