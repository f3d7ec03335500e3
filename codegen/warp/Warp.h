// The warp dialect: what the warps of a block do. WarpOps.td says what each operation means.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "codegen/instructions/Family.h"
#include "codegen/ir/TermTypes.h"
#include "codegen/schedule/ScheduleAttr.h"

#include "codegen/warp/WarpDialect.h.inc"
#include "codegen/warp/WarpEnums.h.inc"

namespace wkvc::warp {

// Returns what the instructions of a family take (codegen/instructions).
const InstructionFamily& instructions_of(Family family);

}  // namespace wkvc::warp

#define GET_TYPEDEF_CLASSES
#include "codegen/warp/WarpTypes.h.inc"
#define GET_OP_CLASSES
#include "codegen/warp/WarpOps.h.inc"

namespace wkvc::warp {

// Floats of shared memory that an inverse needs as scratch (templates/wkvc/cuda/invert_block.h).
constexpr int64_t kInverseFloats = 192;

// Bytes of the mbarriers that a slot has where rounds take turns (templates/wkvc/common/block/team.h).
constexpr int64_t kSlotMbarriers = 16;

inline constexpr size_t kMaxOperations = 40000;  // of a kernel

inline constexpr int kRowPadding = 8;   // elements after each row of a shared tile of f32, or of a ring
inline constexpr int kTermPadding = 4;  // of a shared tile of two terms, whose rows ldmatrix takes

// Return whether a value is a tile, in registers, in strips there, or in shared memory.
bool is_in_registers(mlir::Value value);
bool is_in_strips(mlir::Value value);
bool is_in_shared_memory(mlir::Value value);

// Columns of the slab that begins at `column`, in strips or not.
int64_t slab_width(SlabsOp slabs);
int64_t slab_width(mlir::Value column);

RoleOp role_of(KernelOp kernel, Work work);  // null if the kernel has none
bool is_in_role(mlir::Operation* op, Work work);
bool has_slots(KernelOp kernel);      // whether chunks of a round have slots, of one channel or several
bool has_producers(KernelOp kernel);  // whether warps of their own prepare chunks
bool has_phases(KernelOp kernel);     // whether the pass barriers is still to say where warps meet

int64_t map_rows(KernelOp kernel);  // of the map that a summary carries behind the state

// Of a block's warps: those with 16 rows each of the state or of the map behind it, and those of a team.
int64_t row_warps(KernelOp kernel);
int64_t team_warps(KernelOp kernel);

int64_t round_chunks(KernelOp kernel);     // one for each team of a cluster's blocks
bool goes_again(KernelOp kernel);          // whether its teams prepare some rounds again
int64_t group_columns(bool transposed);    // that contractions by groups make a multiple of
bool may_be_matrices(mlir::Type element);  // whether elements may lie as matrices that wgmma reads

bool is_of_columns(mlir::Value tile);  // whether it is loaded as a B operand alone
bool is_of_team(mlir::Value shared);   // whether a ring, buffer or floats lie in what is the team's for all rounds

bool is_by_groups(mlir::Operation* op);     // whether it is a contraction by groups
bool stores_matrices(mlir::Operation* op);  // whether wgmma reads what it stores

// Bytes of a shared tile, as templates/ lays it out.
int64_t shared_bytes(TileType tile);
int64_t ring_bytes(TileType tile, bool exchanged);  // of one stage
int64_t shared_bytes(RingOp ring);                  // of all its stages
int64_t shared_bytes(StagedOp staged);              // whose rows are not padded
bool has_scale(mlir::Value operand);                // of its own: one that was rounded with it, or a buffer
bool has_scale(RoundOp round);                      // beside its result
int64_t scale_bytes(BufferOp buffer);               // of its scale, or of one for each slab of 16 rows or columns

}  // namespace wkvc::warp
