// What the kernels under test write.
#pragma once

#include "runtime/manifest.h"

namespace wkvc::test {

inline bool is_written(const TensorSpec& spec) { return is_result(spec.role) || spec.role == Role::workspace; }

}  // namespace wkvc::test
