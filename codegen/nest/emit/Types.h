// C++ types of tiles.
#pragma once

#include <string>

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Returns the type of a view of shared memory: "Swizzled<bf16, 64, 128>".
std::string view_type(TileType tile);

// Returns the type of the tile that a warp of four has in registers: "Tile<f32, 16, 128>".
std::string register_type(TileType tile);

}  // namespace wkvc::nest
