// What operations read and write in shared memory, and which warps do.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc::warp {

// How warps share an access: all of them make it, one does, or each makes its own part.
struct Share {
  enum Kind { all, one, rows, columns, slabs } kind = all;
  int64_t number = 0;  // the one warp; the columns of a slab

  bool operator==(const Share&) const = default;
};

struct Access {
  mlir::Operation* op = nullptr;
  mlir::Operation* buffer = nullptr;  // the declaration of the memory
  bool reads = false, writes = false;
  bool by_team = false;  // by the warps of one team, in its own slot; else by warps that all slots are open to
  Share share = {};
};

// Accesses of an operation; copies, which go on after theirs, aside.
llvm::SmallVector<Access, 4> accesses_of(mlir::Operation* op);

// The shared memory that an operation itself writes to; null if none.
mlir::Value written_by(mlir::Operation* op);

// Returns whether the operation makes a phase of what lies between two barriers: maxima, scales and joined rows alone
// make none.
bool makes_phase(mlir::Operation* op);

// Returns whether the operation declares shared memory that accesses are to: a ring, a buffer, floats, a staged state.
bool is_declaration(mlir::Operation* op);

// Bytes from `begin` to before `end`.
struct Bytes {
  int64_t begin, end;

  bool overlap(const Bytes& other) const { return begin < other.end && other.begin < end; }
};

// Bytes of a declaration: its tile, or one stage of a ring, and the scales beside a buffer.
llvm::SmallVector<Bytes, 2> bytes_of(mlir::Operation* declaration, int64_t stage);
int64_t stages_of(mlir::Operation* declaration);

// A declaration, as messages name it.
std::string description_of(mlir::Operation* declaration);

}  // namespace wkvc::warp
