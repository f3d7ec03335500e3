// Scales, ticks and axes of a plot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autotune/report/svg.h"

namespace wkvc {

// Maps values to a drawing's units.
struct Scale {
  double low = 0, high = 1;  // values at the ends
  double from = 0, to = 1;   // units at the ends
  bool logarithmic = false;  // low is above 0 then
  double at(double value) const;
};

// Room for all of `values`, and a little more on both sides; logarithmic where they span more than a factor of 20.
Scale scale_for(const std::vector<double>& values, double from, double to);

// Round values inside the scale, about as many as asked for.
std::vector<double> ticks(const Scale& scale, int about);

// Where a plot is in its drawing.
struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
};

// Axes with grid lines, numbers and a label that names the unit.
void draw_x_axis(Svg& svg, const Frame& frame, const Scale& scale, std::string_view label);
void draw_y_axis(Svg& svg, const Frame& frame, const Scale& scale, std::string_view label);

std::string number_text(double value);  // "4.451", "1.68e-3": four digits at most
std::string time_text(double ms);       // "4.400": always four digits, as times stand below each other

}  // namespace wkvc
