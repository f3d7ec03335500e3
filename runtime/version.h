#pragma once

#include <string_view>

namespace wkvc {

std::string_view wkvc_version();  // "0.1.0", the project's version in CMakeLists.txt

}  // namespace wkvc
