// Which function writes an operation of a nest. Each group of operations is a file of this folder, which adds the
// group's functions to the table.
#pragma once

#include "codegen/emit/OperationTable.h"
#include "codegen/nest/emit/NestText.h"

namespace wkvc::nest {

using OperationWriters = OperationTable<NestText>;

void add_channels(OperationWriters& writers);
void add_guards(OperationWriters& writers);
void add_products(OperationWriters& writers);
void add_tensors(OperationWriters& writers);
void add_values(OperationWriters& writers);

// Writes the wait for a slot of a channel, which others may take from it.
void write_acquire(NestText& text, ChannelOp channel, const std::string& chunk);

// Writes a copy of a chunk's rows into the slot of the same number.
void write_load(NestText& text, LoadOp load, const std::string& chunk);

// Writes the guard of a kernel, and that a block ends whose samples are refused; nothing for a kernel without a guard.
void write_guard(NestText& text);

// Write that all roles meet behind their sweeps, and what the role's warps have seen: in a state, too, which the block
// keeps where it refuses. Nothing for a kernel without a guard.
void write_vote(NestText& text);
void write_vote_on(NestText& text, StoreStateOp store);

// Returns whether a role starts copies to tensors, for which the role waits before it ends.
bool starts_stores(RoleOp role);

// Writes the operations of a region that are not inlined in others.
void write_body(NestText& text, mlir::Region& region);

}  // namespace wkvc::nest
