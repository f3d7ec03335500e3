// How a report looks, in light and in dark.
#pragma once

#include <string_view>

namespace wkvc {

std::string_view html_style();  // a style sheet that XML can hold as it is

}  // namespace wkvc
