// What became of one shape class, as a report shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autotune/lockfile/candidate.h"
#include "autotune/lockfile/shape_class.h"

namespace wkvc {

struct ShapeReport {
  ShapeClass shape_class;
  std::vector<Candidate> candidates;  // texts are UTF-8
  std::optional<Config> winner;       // one of the timed candidates; none when nothing could be timed
  std::optional<Config> untuned;      // what would be taken without tuning
  double copy_ms = 0;                 // a copy of as many bytes
};

bool is_winner(const ShapeReport& report, const Candidate& candidate);
bool is_untuned(const ShapeReport& report, const Candidate& candidate);

const Candidate* winner_of(const ShapeReport& report);   // null when there is none
const Candidate* untuned_of(const ShapeReport& report);  // null when it is none of the candidates

// Pointers into the report. Those that were timed, the fastest first; the others, rejected ones first.
std::vector<const Candidate*> timed(const ShapeReport& report);
std::vector<const Candidate*> not_timed(const ShapeReport& report);

std::string marked_label(const ShapeReport& report,
                         const Candidate& candidate);  // "★ chunk 32": winner, ◆: default
std::string facts_of(const Candidate& candidate);      // all that is known of it, a line each

}  // namespace wkvc
