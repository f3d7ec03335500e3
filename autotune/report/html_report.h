// A page that shows why the winner won: one HTML file that needs nothing else and has no script.
#pragma once

#include <span>
#include <string>

#include "autotune/lockfile/lock_entry.h"
#include "autotune/report/shape_report.h"

namespace wkvc {

struct RunFacts {
  std::string title;  // "rwkv7 both"
  Gpu gpu;            // without a name where there was none
  Evidence evidence;
};

// A section for every shape class. The text is HTML and well-formed XML.
std::string html_report(const RunFacts& facts, std::span<const ShapeReport> reports);

}  // namespace wkvc
