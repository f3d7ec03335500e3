// The recurrences that wkvc knows by itself, written in its own language.
#pragma once

#include "dsl/wkvc.h"

namespace wkvc {

Definition rwkv7();       // w raw: log_w = -exp(-0.5) * sigmoid(w), in [-0.6065, 0]
Definition rwkv7_logw();  // w is the log-decay itself, of any range
Definition rwkv6();       // w raw: log_w = -exp(w); reads the state before the token, with the bonus u

}  // namespace wkvc
