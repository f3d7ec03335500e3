// Advice to those who check or time a subject: a declaration that would make its kernels faster.
#pragma once

#include "checking/subject.h"

namespace wkvc {

// Says on the standard error, in one line, which range is missing where contractions take f32 operands for want of it.
void advise(const Subject& subject);

}  // namespace wkvc
