// The recurrences that wkvc knows by itself, written in its own language: a file each in dsl/operators/.
#pragma once

#include "dsl/wkvc.h"

namespace wkvc {

#define WKVC_OPERATOR(name) Definition name();
#include "dsl/operators.def"
#undef WKVC_OPERATOR

}  // namespace wkvc
