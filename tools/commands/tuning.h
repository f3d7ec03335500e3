// What tune does with a task: configurations are timed on this machine, and what was found is told.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autotune/report/shape_report.h"
#include "autotune/search/task.h"
#include "autotune/search/tuner.h"

namespace wkvc {

struct TuningPlace {
  Target target = Target::cuda;
  Gpu gpu;
  Tuner::Clock::time_point end;           // of the budget
  std::optional<std::string> input = {};  // what is timed on; not given: drawn
  std::filesystem::path journal = {};     // where a run that is interrupted goes on; empty: nowhere
};

struct Tuned {
  std::vector<ShapeReport> reports;  // of every size
  std::size_t tried = 0, untried = 0;
};

// Compiles, times and validates, and prints what calls take as soon as that is timed. On the host nothing is timed, and
// the budget changes nothing but how many configurations the model ranks.
Tuned tuned(const TuningTask& task, const TuningPlace& place);

// The findings at each size, for people.
void print_findings(const Tuned& found);

// Returns whether an entry of the size is worth its place in a lockfile.
bool is_worth_an_entry(const ShapeReport& report);

}  // namespace wkvc
