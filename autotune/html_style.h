// How a report looks, in light and in dark.
#pragma once

#include <string>
#include <string_view>

namespace wkvc {

std::string_view html_style();  // a style sheet that XML can hold as it is

std::string shades_legend();  // HTML that explains the colours of the memory chart

}  // namespace wkvc
