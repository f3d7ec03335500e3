// Shared buffers lie in the kernel's shared memory, and keep out of each other's bytes.
#include <fmt/format.h>

#include "codegen/warp/Channels.h"
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

template <class Op>
void SharedBytes::add(Op op, int64_t offset, int64_t bytes) {
  spans_.push_back({op, offset, offset + bytes, signed_value(op.getFrom()), signed_value(op.getTo())});
}

void SharedBytes::add(Operation* op) {
  auto bytes = [](Value value) { return shared_bytes(cast<TileType>(value.getType())); };
  if (auto ring = dyn_cast<RingOp>(op)) {
    int64_t offset = signed_value(ring.getOffset());
    Span span{op, offset, offset + shared_bytes(ring)};
    if (ring.getFrom()) span.from = signed_value(*ring.getFrom());
    if (ring.getTo()) span.to = signed_value(*ring.getTo());
    spans_.push_back(span);
  }
  if (auto floats = dyn_cast<FloatsOp>(op)) add(floats, signed_value(floats.getOffset()), bytes(floats.getResult()));
  if (auto staged = dyn_cast<StagedOp>(op)) add(staged, signed_value(staged.getOffset()), shared_bytes(staged));
  if (auto buffer = dyn_cast<BufferOp>(op)) {
    add(buffer, signed_value(buffer.getOffset()), bytes(buffer.getResult()));
    if (buffer.getScale()) add(buffer, signed_value(*buffer.getScale()), scale_bytes(buffer));
  }
}

// A kernel's memory, or what a team has for all rounds, or a slot of a channel behind that.
LogicalResult SharedBytes::verify_span(const Span& span, const Bytes& memory) {
  if (span.begin >= memory.begin && span.begin % 16 == 0 && span.end <= memory.end) return success();
  const std::string all = memory.begin ? fmt::format("{} to {}", memory.begin, memory.end) : fmt::to_string(memory.end);
  return span.op->emitOpError("bytes ")
         << span.begin << " to " << span.end << " of " << all
         << ": offsets are multiples of 16 inside the kernel's memory, a team's or a slot";
}

Bytes SharedBytes::memory_of(Operation* declaration, KernelOp kernel) {
  if (auto channel = channel_named_by(declaration)) return {signed_value(channel.getOffset()), end_of_offsets(channel)};
  return {0, has_slots(kernel) ? team_bytes(kernel) : signed_value(kernel.getSharedBytes())};
}

LogicalResult SharedBytes::verify_apart() const {
  for (size_t i = 0; i < spans_.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (spans_[i].overlaps(spans_[j]))
        return spans_[i].op->emitOpError("bytes ")
               << spans_[i].begin << " to " << spans_[i].end << " overlap bytes " << spans_[j].begin << " to "
               << spans_[j].end << " of another buffer that is in use in the same phase";
  return success();
}

LogicalResult SharedBytes::verify(KernelOp kernel) const {
  for (const Span& span : spans_)
    if (failed(verify_span(span, memory_of(span.op, kernel)))) return failure();
  return verify_apart();
}

}  // namespace wkvc::warp
