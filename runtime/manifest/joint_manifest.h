// The kernels of one text as their caller sees them: as though they were one.
#pragma once

#include <span>

#include "runtime/manifest/manifest.h"

namespace wkvc {

// Fields are those of the first kernel (chunk and saved_every: of the first that saves or reads states), tensors those
// of all, each once, in the order they are first named in; what a kernel writes and a later one takes as an input is a
// result. Throws UserError where kernels disagree on the operator, the architecture, the head or a tensor.
Manifest joint_manifest(std::span<const Manifest> manifests);

}  // namespace wkvc
