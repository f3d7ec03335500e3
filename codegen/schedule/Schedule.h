// The schedule of a kernel: all that may be chosen of how a program becomes a kernel. What follows from the choices is
// a plan (codegen/passes/place/Plan.h). Options are a shorthand that fills schedules in. Needs no MLIR; ScheduleAttr.h
// is the attribute that programs and kernels carry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "codegen/schedule/Fields.h"
#include "runtime/tensor/dtype.h"

namespace wkvc {

// `guarded`: a kernel without scales comes first; blocks whose numbers do not fit run again with scales.
enum class Numerics { scaled, guarded };

// Matrices of tokens by tokens that both passes need, the inverses among them. `kept`: the forward kernel stores them
// for the backward kernel. `again`: the backward kernel makes them again, and they take no memory in between.
enum class Matrices { kept, again };

// Values in slabs that a later phase reads again, and that are stored until then: contractions always, also factors
// (Factors.h), also running sums, also activations, which take several times as long as a load, or also exponentials.
// `automatic`: as much as there is room for.
enum class Stored { automatic, contractions, factors, sums, activations, exponentials };

// A kernel copies ahead: nothing, inputs, those of the next round early, those as soon as teams have read the ones
// before, also the state before the next chunk, or also all that the next group begins with. `automatic`: as much as
// there is room for.
enum class Ahead { automatic, none, inputs, early, read, states, groups };

struct Schedule {
  struct Grid {
    int segments = 1;  // of a sequence, side by side
    int cluster = 1;   // blocks that run a head together
    int blocks = 0;    // that a multiprocessor holds at once; 0: the compiler's choice
    bool operator==(const Grid&) const = default;
  } grid;
  struct Prepare {
    int teams = 1;  // that prepare a chunk each; 1 of the state's warps: all do everything together
    int warps = 0;  // of a team, of its own, which run a round ahead of the state's; 0: teams are the state's warps
    bool operator==(const Prepare&) const = default;
  } prepare;
  struct Checkpoint {
    int every = 0;  // chunks between saved states; 0: none is saved
    DType dtype = DType::f32;
    Matrices matrices = Matrices::kept;
    bool operator==(const Checkpoint&) const = default;
  } checkpoint;
  Numerics numerics = Numerics::scaled;
  struct Memory {
    Stored keep = Stored::automatic;
    Ahead prefetch = Ahead::automatic;
    bool operator==(const Memory&) const = default;
  } memory;

  bool goes_ahead() const { return prepare.warps > 0; }
  bool by_teams() const { return prepare.teams > 1 || goes_ahead(); }  // chunks are prepared
  int rounds() const { return goes_ahead() ? 2 : 1; }                  // of chunks in shared memory at once
  int round_chunks() const { return prepare.teams * grid.cluster; }
  bool operator==(const Schedule&) const = default;
};

using ScheduleField = Field<Schedule>;

std::span<const ScheduleField> schedule_fields();

// Returns the field of a schedule, or null if there is none.
const ScheduleField* find_field(std::string_view group, std::string_view name);

// Returns the fields that are not the default's: "grid(segments = 4), prepare(teams = 2, warps = 2)".
std::string text_of(const Schedule& schedule);

}  // namespace wkvc
