// What the kernels under test write.
#pragma once

#include "runtime/manifest/manifest.h"

namespace wkvc::test {

// Parts of a parameter's gradient. Other workspaces are read by the kernel that writes them.
inline bool is_parts(const TensorSpec& spec) { return spec.role == Role::workspace && spec.name.ends_with("_parts"); }

inline bool is_written(const TensorSpec& spec) { return is_result(spec.role) || spec.role == Role::workspace; }

}  // namespace wkvc::test
