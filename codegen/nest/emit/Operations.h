// Which function writes an operation of a nest. Each group of operations is a file of this folder, which adds the
// group's functions to the table.
#pragma once

#include "codegen/emit/OperationTable.h"
#include "codegen/nest/emit/NestText.h"

namespace wkvc::nest {

using OperationWriters = OperationTable<NestText>;

void add_channels(OperationWriters& writers);
void add_products(OperationWriters& writers);
void add_tensors(OperationWriters& writers);
void add_values(OperationWriters& writers);

// Writes the wait for a slot of a channel, which others may take from it.
void write_acquire(NestText& text, ChannelOp channel, const std::string& chunk);

// Writes a copy of a chunk's rows into the slot of the same number.
void write_load(NestText& text, LoadOp load, const std::string& chunk);

// Writes the operations of a region that are not inlined in others.
void write_body(NestText& text, mlir::Region& region);

}  // namespace wkvc::nest
