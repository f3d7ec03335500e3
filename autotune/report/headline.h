// Sentences that say which configuration won and why, made from the numbers.
#pragma once

#include <string>

#include "autotune/report/shape_report.h"

namespace wkvc {

std::string headline(const ShapeReport& report);  // plain text

}  // namespace wkvc
