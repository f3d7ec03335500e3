// Which function writes an operation of a kernel. Each group of operations is a file of this folder, which adds the
// group's functions to the table.
#pragma once

#include "codegen/emit/KernelText.h"
#include "codegen/emit/OperationTable.h"

namespace wkvc {

using OperationWriters = OperationTable<KernelText>;

void add_buffers(OperationWriters& writers);
void add_contractions(OperationWriters& writers);
void add_control(OperationWriters& writers);
void add_guards(OperationWriters& writers);
void add_inputs(OperationWriters& writers);
void add_numbers(OperationWriters& writers);
void add_outputs(OperationWriters& writers);
void add_scales(OperationWriters& writers);
void add_states(OperationWriters& writers);
void add_sweeps(OperationWriters& writers);
void add_sync(OperationWriters& writers);
void add_tiles(OperationWriters& writers);

// Write operations, but for operations that stand in the text of another one.
void write_all(KernelText& text, llvm::iterator_range<mlir::Block::iterator> ops);
void write_body(KernelText& text, mlir::Region& region);

// Writes how many tokens the current chunk has.
void write_valid(KernelText& text);

// The variable of a channel's slot of the chunk at hand: who prepares the chunk calls it `team`, who takes the state
// through it `slot`.
using SlotVariable = std::string ChannelNames::*;

// Writes the buffers that a region of a kernel of teams uses.
void write_buffers_of(KernelText& text, mlir::Region& region, SlotVariable slot);

// Returns the variable whose memory a ring, buffer or floats lie in: of a slot, or of what is there for all rounds.
inline std::string memory_of(const KernelText& text, mlir::Value shared, SlotVariable slot) {
  return warp::channel_around(shared) ? text.names_around(shared).*slot : text.traits.copier;
}

// Writes the barrier of a cluster's blocks. Other blocks may use this block's mbarriers and memory before the barrier.
void write_meeting(KernelText& text);

}  // namespace wkvc
