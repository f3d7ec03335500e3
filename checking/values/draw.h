// How a tensor is drawn at random, by what the recurrence does with it (see cases.h).
#pragma once

#include <string>

#include "codegen/rec/Ranges.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

enum class Distribution { raw_decay, log_decay, decay, unit_norm, unit_interval, uniform, normal, erasure };

// Whether such a tensor does nothing but decay the state.
constexpr bool decays(Distribution distribution) {
  return distribution == Distribution::raw_decay || distribution == Distribution::log_decay ||
         distribution == Distribution::decay;
}

struct Draw {
  Distribution distribution = Distribution::normal;
  rec::Interval range;      // declared
  std::string erased = {};  // of an erasure: the input it is drawn from
};

// For the input or parameter called `name`; throws UserError when the recurrence has none.
Draw draw_of(rec::RecurrenceOp recurrence, const std::string& name);

}  // namespace wkvc
