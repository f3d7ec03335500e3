// How large the numbers of a case are.
#pragma once

#include <string>

#include "checking/values/cases.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// Returns the least and the most of the largest |elements| of a sequence's head, for people, with the tensors they are
// in: what guards look at. Decays do not count.
std::string magnitudes_text(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& given);

}  // namespace wkvc
