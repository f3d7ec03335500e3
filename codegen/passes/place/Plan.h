// What follows from a program's schedule, and whether its kernel can have it.
#pragma once

#include <string>

#include "codegen/chunk/Chunk.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// How the warps of a kernel's block share its work: what passes ask in place of the schedule.
struct Plan {
  int row_warps = 1;   // with 16 of the block's rows of the state, or of the map behind it, each
  int copies = 1;      // teams that prepare a chunk each: copies of what a team has
  int depth = 1;       // slots of each chunk of a round, by turns; 2: warps of their own prepare a round ahead
  int team_warps = 1;  // that deal with a chunk's slabs and matrices
  int cluster = 1;     // blocks for each head; more share its rows, and what their teams have prepared

  bool goes_ahead() const { return depth > 1; }
  bool by_teams() const { return copies > 1 || goes_ahead(); }  // which prepare chunks for the state's warps
  int preparers() const { return goes_ahead() ? copies * team_warps : 0; }
  int round_chunks() const { return copies * cluster; }
  int slots() const { return round_chunks() * depth; }  // copies of what a prepared chunk has
  int warps() const { return row_warps + preparers(); }
};

int row_warps_of(chunk::ProgramOp program);  // of all blocks of a head

// Returns how the schedule deals the program to warps. Its numbers may be none that a block can have (is_possible).
Plan warps_of(chunk::ProgramOp program);
bool is_possible(const Plan& plan);  // rows for each warp, as many warps as a block may have, teams of equal size

// The check of a schedule: returns the plan of a program's kernel. `recompute` brings states on from those that are
// saved; null: all are. Throws UserError where the program's kernel can't have the schedule. What the kernel takes of
// memory is known when it has been placed, and of registers when it has been built
// (codegen/passes/warp/CheckRegisters.h).
Plan plan(chunk::ProgramOp program, chunk::ProgramOp recompute);

// Returns whether the warps of a program's state may prepare its chunks in so many teams.
bool may_have_teams(chunk::ProgramOp program, int copies);

// Deals the warps of a program's state to so many teams.
void set_teams(chunk::ProgramOp program, int copies);

// Takes teams and clusters out of a program's schedule, where its kernel has no room for them. All else stays.
void drop_teams(chunk::ProgramOp program);

// "--rounds 1, --teams 2 or --segments 1".
std::string alternatives(llvm::ArrayRef<std::string> options);

}  // namespace wkvc
