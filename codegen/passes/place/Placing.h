// The places of a program's values, rule by rule: each rule is a file of its own and reads what the rules before it
// set.
//
//   owners        by index spaces                        Owners.h
//   value slabs   C×V values that teams need             ValueSlabs.h, by what operations wait for (Waits.h)
//   phases        by operands                            AssignPhases.h
//   delays        to where values are read               Delays.h
//   warps         of matrices                            MatrixWarps.h
//   shares        of what teams make of the states       Shares.h
//   strips        of what teams make before              Strips.h
//   storage       of what other warps or phases read     Storage.h, with stand-ins for inputs (StandIns.h)
#pragma once

#include "codegen/passes/place/Placement.h"
#include "codegen/schedule/Schedule.h"

namespace wkvc {

// Returns all places but for storage. `warps` share a chunk: those of the block, or with `teams` those of a team.
Placement place_values(chunk::ProgramOp program, int warps, bool by_teams);

// Returns the places with storage, where later phases `keep` so much.
Placement stored(Placement placement, Stored keep);

}  // namespace wkvc
