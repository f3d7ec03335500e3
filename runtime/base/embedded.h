// The templates that emitted kernels include, as text inside the library: nothing has to be found on disk at run time.
#pragma once

#include <span>

namespace wkvc {

struct EmbeddedHeader {
  const char* name;  // as kernels include it: "wkvc/abi.h"
  const char* text;
};

std::span<const EmbeddedHeader> embedded_headers();

}  // namespace wkvc
