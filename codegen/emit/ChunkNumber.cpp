#include "codegen/emit/ChunkNumber.h"

#include <fmt/format.h>

#include "codegen/emit/Surroundings.h"

using namespace mlir;

namespace wkvc {

static ChunkNumber first_chunk(const KernelTraits& traits, Operation* op, bool backward) {
  if (is_in_groups(op)) return {backward ? "last" : "first"};
  if (backward) return {fmt::format("{} - 1", traits.end), true};
  return {traits.begin};
}

ChunkNumber chunk_ahead(const KernelTraits& traits, Operation* op, bool backward, uint64_t ahead) {
  ChunkNumber chunk = loop_around(op) || traits.has_teams ? ChunkNumber{"c"} : first_chunk(traits, op, backward);
  if (!ahead) return chunk;
  if (chunk.text == "0") return {std::to_string(ahead)};
  return {fmt::format("{} {} {}", chunk.text, backward ? '-' : '+', ahead), true};
}

std::string is_in_loop(const KernelTraits& traits, Operation* op, const ChunkNumber& chunk, bool backward) {
  if (backward) return fmt::format("{} >= {}", chunk.text, is_in_groups(op) ? "first" : traits.begin);
  return fmt::format("{} < {}", chunk.text, is_in_groups(op) ? "last" : traits.end);
}

std::string lowest_group(warp::KernelOp kernel, const KernelTraits& traits) {
  return traits.is_cut ? fmt::format("begin / {}", kernel.getSavedEvery()) : "0";
}

}  // namespace wkvc
