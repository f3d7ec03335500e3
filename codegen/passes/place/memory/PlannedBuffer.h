// A buffer of a chunk program in its kernel's shared memory.
#pragma once

#include <mlir/IR/BuiltinTypes.h>

#include <optional>

#include "codegen/warp/SharedMemory.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// When an input of a team's next chunk is copied: a round ahead, as all teams have prepared this one's, or later.
enum class Copied { early, prepared, late };

// When a chunk leaves a ring's place for the next one's input, without teams: at once, as there is a second stage,
// behind the first phase or behind the last.
enum class Free { at_once, behind_first, behind_last };

struct PlannedBuffer {
  SharedBuffer* space = nullptr;
  SharedBuffer* scale = nullptr;     // floats beside it, for the scale of an f16 tile or of each of its slabs
  std::optional<warp::Slabs> slabs;  // if it has one for each
  int stages = 1;                    // of a ring, and the warp that copies it
  int warp = 0;
  bool exchanged = false;
  Copied copied = Copied::late;
  Free free = Free::at_once;
  warp::TileType type;
};

// Returns the types of slots of floats, and of a tile.
warp::TileType floats_type(mlir::MLIRContext* context, int64_t count);
warp::TileType shared_type(int64_t rows, int64_t columns, mlir::Type element);

}  // namespace wkvc
