// Recurrences that are not built in and that programs of bench/ measure.
#pragma once

#include "dsl/wkvc.h"

namespace wkvc::bench {

Definition kda_gate5();
Definition unnamed();

}  // namespace wkvc::bench
