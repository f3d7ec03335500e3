// Places of the values of a chunk program, and the phases of a chunk. The pass `place` chooses places
// (codegen/passes/place/Placing.h); PlaceAttr.h has the attributes. Needs no MLIR.
#pragma once

#include "codegen/schedule/Fields.h"

namespace wkvc {

// The warps that compute a value: each one for itself, each one a slab of columns, one warp the whole matrix, or each
// one its 16 value rows.
enum class Owner { anyone, slab, matrix, rows };

// The index that the columns of a slab run over.
enum class Columns { keys, values };

// Where a value is between the phase that computes it and the last phase that reads it:
//   registers: of its warps; a later phase computes it again
//   shared:    in shared memory
//   held:      in shared memory, and from before the last phase on in registers, so that its bytes are free by then
//   stand_in:  in shared memory; what it rounds, an input, is read from it once teams have prepared their chunks
enum class Storage { registers, shared, held, stand_in };

struct ValuePlace {
  Owner owner = Owner::anyone;
  Columns columns = Columns::keys;  // of a slab
  int warp = -1;                    // of a matrix
  int phase = 0;                    // that computes it
  int last = 0;                     // that reads it
  Storage storage = Storage::registers;
  bool operator==(const ValuePlace&) const = default;
};

// How slabs share a chunk's columns: blocks of 16 columns go round the warps; a strip (Strips.h) or a share is one slab
// for each warp.
enum class Prepared { blocks, strips };
enum class Finished { blocks, shares };

// Phases are the stretches of a chunk between barriers. One team goes through the `whole` chunk. With several, a team
// prepares its chunk, the states go through the chunks of all teams, and the team finishes its chunk.
struct Phases {
  int warps = 1;  // that share a chunk
  int whole = 0;
  int prepare = 0, states = 0, finish = 0;
  Prepared prepared = Prepared::blocks;
  Finished finished = Finished::blocks;
  bool together = false;  // the states go through the chunks with no barrier between them
  bool operator==(const Phases&) const = default;

  int count() const { return whole + prepare + states + finish; }
};

std::span<const Field<ValuePlace>> place_fields();
std::span<const Field<Phases>> phases_fields();

std::string_view name_of(Owner owner);
std::string_view name_of(Storage storage);

// Returns "owner = slab, phase = 1, last = 3, storage = shared": the last phase only where it is not the first.
std::string text_of(const ValuePlace& place);
std::string text_of(const Phases& phases);

}  // namespace wkvc
