// Recurrences of the class that wkvc lowers, from RWKV to what nobody has trained yet.
#pragma once

#include <string>
#include <vector>

#include "dsl/wkvc.h"

namespace wkvc::test {

// Names say how `random_problem` draws a tensor: log_… is a log decay, raw_… its argument of −exp(x), gate… and the
// rest are normal, and keys that begin with a, b, c, d or k are short enough that states stay bounded.
std::vector<Definition> recurrences();

Definition recurrence_named(const std::string& name);  // of these

// Those of them whose log decays have no bound.
std::vector<Definition> unbounded_recurrences();

}  // namespace wkvc::test
