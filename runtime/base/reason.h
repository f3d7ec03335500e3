// What the operating system says of a failure. Internal to the runtime.
#pragma once

#include <string>
#include <system_error>

namespace wkvc {

// Of a value of errno: "No such file or directory".
inline std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace wkvc
