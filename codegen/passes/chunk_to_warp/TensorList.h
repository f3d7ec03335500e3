// A kernel's arguments, which follow from its chunk programs.
#pragma once

#include <string>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// States that the forward kernel saves.
inline constexpr const char* kSavedStates = "saved_states";
// Workspaces: states that are recomputed for the loop backward, and what segments leave each other: either pass has its
// own, for their number may differ.
inline constexpr const char* kRecomputed = "chunk_states";
const char* segments_name(chunk::ProgramOp program);
// Of a plain program and of the refused one behind it: a number for each of its blocks.
llvm::StringRef refused_name(chunk::ProgramOp program);

// That of a parameter's gradient before it is summed over batches.
std::string parts_name(chunk::AccumulateOp op);
// That of a shared input's gradient before it is summed over the heads that share one; else the gradient's own.
std::string stored_name(chunk::OutputOp op);

llvm::StringRef first_state(chunk::ProgramOp program);  // what its loop begins with
llvm::StringRef last_state(chunk::ProgramOp program);   // what it ends with

// How initial and final states are stored, and in which order they and their gradients have their dimensions.
struct StoredStates {
  std::string dtype = "f32";
  std::string dims = "B,H,V,K";
};

StoredStates states_of(chunk::ProgramOp program);

// In order, each "role name dtype dims". `recompute` may be null; `keeps_states`: recomputed ones go through a
// workspace. `maps`: rows of the map in summaries of segments.
mlir::ArrayAttr tensor_list(chunk::ProgramOp program, chunk::ProgramOp recompute, bool keeps_states, int64_t maps);

}  // namespace wkvc
