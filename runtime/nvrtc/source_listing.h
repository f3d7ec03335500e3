// Kernel text for error messages. Internal to the runtime.
#pragma once

#include <string>
#include <string_view>

namespace wkvc {

std::string numbered(std::string_view source);  // each line behind its number, as compilers refer to it

}  // namespace wkvc
