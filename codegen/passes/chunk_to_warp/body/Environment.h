// What is known of a chunk while its operations are built: where values are, and the scales that they have.
#pragma once

#include "codegen/passes/chunk_to_warp/StateForms.h"
#include "codegen/passes/chunk_to_warp/body/CarriedScales.h"
#include "codegen/passes/chunk_to_warp/body/ChunkRegisters.h"
#include "codegen/passes/chunk_to_warp/body/OperandScales.h"
#include "codegen/passes/chunk_to_warp/body/Site.h"
#include "codegen/passes/place/Triangles.h"

namespace wkvc {

// The state that goes through a chunk.
struct StateInChunk {
  mlir::Value before, after;
  const SumScales* sums = nullptr;  // of the state, while it is taken through a round
  mlir::Value slope, offset;        // of roundings in the state's scale
  mlir::Value operand;              // which was rounded in the state's scale
};

struct Environment {
  Environment(const BuildContext& of, const StateForms& forms)
      : context(of), states(forms), site(of.placement()), tiles(of), scales(of, tiles) {}
  Environment(const Environment&) = delete;  // whose parts refer to each other
  Environment& operator=(const Environment&) = delete;

  const BuildContext& context;
  const StateForms& states;
  Site site;
  ChunkRegisters registers;
  ChunkTiles tiles;
  OperandScales scales;
  CarriedScales carried;
  StateInChunk state;
  Triangles triangles;
};

}  // namespace wkvc
