// The three charts of a report, as SVG. Each is empty when there is nothing to draw.
#pragma once

#include <string>

#include "autotune/report/shape_report.h"

namespace wkvc {

inline constexpr double chart_width = 960;

std::string time_chart(const ShapeReport& report);    // a bar for each configuration, the fastest first
std::string error_chart(const ShapeReport& report);   // error against time, with bounds
std::string memory_chart(const ShapeReport& report);  // shared memory against blocks an SM, coloured by time

}  // namespace wkvc
