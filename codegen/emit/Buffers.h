// The shared buffers of a kernel as its text declares them: for its header comment and for `explain`.
#pragma once

#include <string>
#include <vector>

#include "codegen/warp/Warp.h"

namespace wkvc {

struct Buffer {
  std::string name;
  warp::TileType type;  // null for the scales of another buffer
  std::int64_t stages = 1, bytes = 0, offset = 0;
  std::int64_t from = 0, to = 0;  // phases in which it is in use
};

std::vector<Buffer> buffers_of(warp::KernelOp kernel);

}  // namespace wkvc
