// What the marks of a chart mean: HTML with a key for each kind of mark that is in the drawing, and for no other.
#pragma once

#include <string>
#include <string_view>

namespace wkvc {

std::string time_legend(std::string_view drawing);
std::string error_legend(std::string_view drawing);
std::string memory_legend(std::string_view drawing);

}  // namespace wkvc
