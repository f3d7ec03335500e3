// The rule of storage: what crosses to another owner lies in shared memory until the last phase that reads it. Of what
// a later phase reads again, contractions lie there, and as much more as `keep` says; the rest is computed again.
#pragma once

#include "codegen/passes/place/Placement.h"
#include "codegen/schedule/Schedule.h"

namespace wkvc {

// Sets the storage and the last phase of all values. Owners, phases and shares are there.
void store_values(Placement& placement, Stored keep);

}  // namespace wkvc
