#include "codegen/warp/SharedMemory.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/warp/verify/Phases.h"

namespace wkvc {

namespace {

std::int64_t aligned(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::int64_t allocate(std::vector<SharedBuffer*> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const SharedBuffer* x, const SharedBuffer* y) { return x->bytes > y->bytes; });
  std::int64_t total = 0, alignment = 16;
  std::vector<SharedBuffer*> placed;  // by offset
  for (SharedBuffer* buffer : buffers) {
    std::int64_t offset = 0;
    for (const SharedBuffer* other : placed) {
      if (!warp::live_together(*buffer, *other)) continue;
      if (offset + buffer->bytes <= other->offset) break;
      offset = std::max(offset, aligned(other->offset + other->bytes, buffer->alignment));
    }
    buffer->offset = offset;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), buffer, [](auto* x, auto* y) { return x->offset < y->offset; }),
        buffer);
    total = std::max(total, offset + buffer->bytes);
    alignment = std::max(alignment, buffer->alignment);
  }
  return aligned(total, alignment);
}

std::string map_of(const std::vector<SharedBuffer>& buffers) {
  std::vector<const SharedBuffer*> sorted;
  for (const SharedBuffer& buffer : buffers) sorted.push_back(&buffer);
  std::stable_sort(sorted.begin(), sorted.end(), [](auto* x, auto* y) { return x->offset < y->offset; });
  std::string text = fmt::format("{:>8} {:>8}  {:<9} {}\n", "offset", "bytes", "phases", "buffer");
  for (const SharedBuffer* b : sorted)
    text += fmt::format("{:>8} {:>8}  {:<9} {}\n", b->offset, b->bytes, fmt::format("{}-{}", b->from, b->to), b->name);
  return text;
}

}  // namespace wkvc
