// Which compiler this is: texts that another one made are not taken from the cache.
#pragma once

#include <string_view>

namespace wkvc {

// A hash of the compiler's sources, made when it was built.
std::string_view compiler_fingerprint();

}  // namespace wkvc
