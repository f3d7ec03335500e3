// How the warps of a kernel's block share its work.
#pragma once

namespace wkvc {

struct Crew {
  int row_warps = 1;   // with 16 of the block's rows of the state, or of the map behind it, each
  int teams = 1;       // that prepare a chunk each
  int rounds = 1;      // of chunks in shared memory at once; 2: warps of their own prepare one ahead
  int team_warps = 1;  // that deal with a chunk's slabs and matrices
  int cluster = 1;     // blocks for each head; more share its rows, and what their teams have prepared

  int preparers() const { return rounds > 1 ? teams * team_warps : 0; }
  int round_chunks() const { return teams * cluster; }
  int warps() const { return row_warps + preparers(); }
};

}  // namespace wkvc
