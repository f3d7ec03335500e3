#include "codegen/emit/Buffers.h"

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

// Copies into rings go on through the last phase, whose number is that of the barriers in the loop, or of the last of
// several loops, whose buffers say it.
std::int64_t last_phase(warp::KernelOp kernel) {
  std::int64_t last = 0;
  kernel.walk([&](warp::SweepOp loop) {
    auto barriers = loop.getBody().getOps<warp::BarrierOp>();
    last = std::max<std::int64_t>(last, std::distance(barriers.begin(), barriers.end()));
  });
  kernel.walk([&](Operation* op) {
    if (auto to = op->getAttrOfType<IntegerAttr>("to")) last = std::max(last, to.getInt());
  });
  return last;
}

std::int64_t number(std::uint64_t attribute) { return static_cast<std::int64_t>(attribute); }

template <class Op>
Buffer plain(Op op, std::int64_t bytes) {
  return {name_of(op.getResult()).str(),
          cast<warp::TileType>(op.getType()),
          1,
          bytes,
          number(op.getOffset()),
          number(op.getFrom()),
          number(op.getTo())};
}

}  // namespace

std::vector<Buffer> buffers_of(warp::KernelOp kernel) {
  std::vector<Buffer> all;
  std::int64_t last = last_phase(kernel);
  kernel.walk([&](Operation* op) {
    if (auto floats = dyn_cast<warp::FloatsOp>(op))
      all.push_back(plain(floats, warp::shared_bytes(cast<warp::TileType>(floats.getType()))));
    if (auto staged = dyn_cast<warp::StagedOp>(op)) all.push_back(plain(staged, warp::shared_bytes(staged)));
    if (auto buffer = dyn_cast<warp::BufferOp>(op)) {
      all.push_back(plain(buffer, warp::shared_bytes(cast<warp::TileType>(buffer.getType()))));
      if (auto scale = buffer.getScale())
        all.push_back({all.back().name + "_scale",
                       {},
                       1,
                       warp::scale_bytes(buffer),
                       number(*scale),
                       all.back().from,
                       all.back().to});
    }
    if (auto ring = dyn_cast<warp::RingOp>(op))
      all.push_back({name_of(ring.getResult()).str(), cast<warp::TileType>(ring.getType()), number(ring.getStages()),
                     warp::shared_bytes(ring), number(ring.getOffset()), number(ring.getFrom().value_or(0)),
                     ring.getTo() ? number(*ring.getTo()) : last});
  });
  return all;
}

}  // namespace wkvc
