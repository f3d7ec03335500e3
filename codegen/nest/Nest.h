// The nest dialect: roles of warps, what they sweep over, and channels between them. NestOps.td says what each
// operation means.
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

#include "codegen/instructions/Layout.h"
#include "codegen/nest/NestDialect.h.inc"
#include "codegen/nest/NestEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/nest/NestTypes.h.inc"
#define GET_OP_CLASSES
#include "codegen/nest/NestOps.h.inc"

namespace wkvc::nest {

// Returns the role that an operation belongs to.
RoleOp role_of(mlir::Operation* op);

// Returns whether one copy of a role does the operation for a chunk, and not all copies.
bool is_dealt(mlir::Operation* op);

// Returns how many copies of a role do the operation for a chunk, in a block.
int64_t copies_of_chunk(mlir::Operation* op);

// Returns how many blocks of a cluster run the operation's kernel together.
int64_t blocks_of(mlir::Operation* op);

// Bytes of the mbarriers of a slot: that its tile is there, and that it is free.
inline constexpr int64_t kSlotMbarriers = 16;

// Returns the bytes that a slot of a channel takes.
int64_t slot_bytes(ChannelOp channel);

// Returns the bytes that all slots of a channel take; none `over` another channel.
int64_t shared_bytes(ChannelOp channel);

// Bytes of shared memory that a warp needs for substitution with a 16x16 block
// (templates/wkvc/cuda/nest/substitution.h).
inline constexpr int64_t kSubstitutionBytes = 4 * 16 * 20;

// Returns whether an operation is part of the expression of the one that uses it: it has no registers of its own.
bool is_inlined(mlir::Operation* op);

// Returns the channel that an operand is a tile of, or a part of one; null where the operand is no such tile.
mlir::Value channel_of(mlir::Value operand);

// Returns the types of a channel's tiles, and the roles that put into a channel or get from it, in their order.
TileType tile_of(mlir::Value channel);
llvm::SmallVector<RoleOp> producers_of(ChannelOp channel);
llvm::SmallVector<RoleOp> consumers_of(ChannelOp channel);

// Returns the channel whose tiles take the places of a channel's tiles; null where there is none.
ChannelOp replacement_of(ChannelOp channel);

// Returns all warps of a role, those of its copies together.
int64_t all_warps(RoleOp role);

// Returns the block's first warp that is a role's.
int64_t first_warp_of(RoleOp role);

}  // namespace wkvc::nest
