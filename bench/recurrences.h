// Recurrences that are not built in and that programs of bench/ measure.
#pragma once

#include "dsl/wkvc.h"

namespace wkvc::bench {

Definition gated_delta_net();
Definition kda();
Definition kda_gate5();
Definition mamba2();
Definition gla();
Definition retnet();
Definition unnamed();

}  // namespace wkvc::bench
