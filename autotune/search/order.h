// In which order configurations are tried.
#pragma once

#include <span>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc {

// Returns `first` in its order and then `space`, each configuration once. The first of the space that come are spread
// over the whole of it.
std::vector<Config> in_turn(std::vector<Config> first, std::span<const Config> space);

}  // namespace wkvc
