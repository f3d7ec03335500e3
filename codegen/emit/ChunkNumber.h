// Numbers of chunks in a kernel's text.
#pragma once

#include <string>

#include "codegen/emit/KernelTraits.h"

namespace wkvc {

// The number of a chunk as an expression.
struct ChunkNumber {
  std::string text;
  bool is_sum = false;  // or a difference

  std::string in_product() const { return is_sum ? "(" + text + ")" : text; }
};

// Returns the number of the chunk `ahead` of the current one; before a loop, `ahead` of the loop's first one.
ChunkNumber chunk_ahead(const KernelTraits& traits, mlir::Operation* op, bool backward, uint64_t ahead);

// Returns the condition that the loop has such a chunk.
std::string is_in_loop(const KernelTraits& traits, mlir::Operation* op, const ChunkNumber& chunk, bool backward);

// Returns the number of the first group of chunks.
std::string lowest_group(warp::KernelOp kernel, const KernelTraits& traits);

}  // namespace wkvc
