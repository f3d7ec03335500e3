// What would make a subject faster, for those who check or time it.
#pragma once

#include "checking/subject.h"

namespace wkvc {

// Says on the standard error, in one line, which range is missing where contractions take f32 operands for want of it.
void advise(const Subject& subject);

}  // namespace wkvc
