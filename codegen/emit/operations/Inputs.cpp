// Inputs on their way to shared memory: rings, copies, the largest elements of what was copied.
#include "codegen/emit/Batches.h"
#include "codegen/emit/ChunkNumber.h"
#include "codegen/emit/Surroundings.h"
#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

// Slots may be declared after the ring that they belong to.
static std::string slots_text(const KernelText& text, Value slots) {
  std::string name = text.names.of(slots);
  if (!name.empty() && !text.traits.has_teams) return name;
  return fmt::format("{}.floats({})", text.traits.copier, text.place_of(slots));
}

static std::string copied(KernelText& text, warp::RingOp ring) {
  Value slots = maximum_of(ring);
  return fmt::format("copied({}, {}, {}{})", ring.getWarp(), text.tensor(ring.getTensor()),
                     text.names.of(ring.getResult()), slots ? ", " + slots_text(text, slots) : "");
}

static void write_copies(KernelText& text, const AlikeRings& rings) {
  const std::string copies = text.names.unique("copies");
  text.copiers.add(rings, copies);
  warp::RingOp ring = rings.first();
  const char* layout = ring.getExchanged() ? ", Exchanged" : text.traits.keeps_places ? "" : ", Padded";
  text.line("Copies<{}, {}{}{}> {};  // of this warp", kind_of(ring), rings.turns.size(), layout,
            text.traits.keeps_places ? "" : ", false", copies);
  for (size_t n = 0; n < rings.turns.size(); ++n) {
    std::vector<std::string> each;
    for (warp::RingOp of_warp : rings.turns[n]) each.push_back(copied(text, of_warp));
    text.lines.call(fmt::format("{}.take<{}>(args, {},", copies, n, text.traits.copier), each);
  }
}

static void write_ring(KernelText& text, warp::RingOp op) {
  text.line("const Ring<{}{}> {}{{{}.memory + {}}};", kind_of(op), op.getExchanged() ? ", Exchanged" : "",
            text.declare(op.getResult()), text.traits.copier, text.place_of(op.getResult()));
  if (isa_and_nonnull<warp::RingOp>(op->getNextNode())) return;  // the last one of a row says who copies them
  for (const AlikeRings& rings : alike_rings(op)) write_copies(text, rings);
}

// A chunk that is copied, and the condition that there is such a chunk, empty where no condition is needed.
struct CopiedChunk {
  std::string number, exists;
};

// Returns the first chunk of the next group, or the team's of the round that it prepares next.
static CopiedChunk next_chunk(KernelText& text, warp::CopyOp op) {
  const uint64_t every = text.kernel.getSavedEvery();
  if (!text.traits.goes_again)
    return {fmt::format("first - {}", every), "g > " + lowest_group(text.kernel, text.traits)};
  const std::string next = text.names.unique("next");
  if (op->getParentOfType<warp::AgainOp>()) {
    text.line(
        "const int {0} = c + Slots::kChunks < {1} ? c + Slots::kChunks : c;  // in the round after this one, or again "
        "in this one",
        next, text.traits.end);
    return {next, ""};
  }
  text.line("const int {0} = c - (first % {1} == 0 ? {1} : Slots::kChunks);  // of the last group, or of this one",
            next, every);
  return {next, fmt::format("{} >= {}", next, text.traits.begin)};
}

static CopiedChunk copied_chunk(KernelText& text, warp::CopyOp op) {
  if (op.getNext()) return next_chunk(text, op);
  const bool backward = op.getRing().getDefiningOp<warp::RingOp>().getBackward();
  const ChunkNumber chunk = chunk_ahead(text.traits, op, backward, op.getAhead());
  const bool own = !op.getAhead() && op->getParentOfType<warp::TeamOp>();  // which is there for such a chunk
  return {chunk.text, own ? "" : is_in_loop(text.traits, op, chunk, backward)};
}

static void write_copy(KernelText& text, warp::CopyOp op) {
  const auto [chunk, exists] = copied_chunk(text, op);
  std::vector<warp::RingOp> rings;
  for (warp::CopyOp copy : row_from(op)) rings.push_back(copy.getRing().getDefiningOp<warp::RingOp>());
  for (Copier copies : text.copiers.of(rings, "copied", [](warp::RingOp) { return true; }))
    text.line("{}{}.copy(args, {}, {});", exists.empty() ? "" : "if (" + exists + ") ", copies.variable,
              memory_of(text, copies.ring.getResult(), &ChannelNames::team), chunk);
}

static void write_current(KernelText& text, warp::CurrentOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  const Type element = cast<warp::TileType>(op.getType()).getElementType();
  const bool in_loop = static_cast<bool>(loop_around(op));
  if (text.traits.has_teams && (in_loop || text.traits.goes_ahead))  // the chunk's slot, not that of the team's first
    text.define(op.getResult(),
                fmt::format("{}.{}<{}, {}>({})",
                            memory_of(text, op.getRing(), in_loop ? &ChannelNames::slot : &ChannelNames::team),
                            ring.getExchanged() ? "exchanged" : "padded", dtype_text(element), shape_text(op.getType()),
                            text.place_of(op.getRing())));
  else if (is_folded(element))  // which is copied as what its tensor has
    text.define(op.getResult(), fmt::format("folded({}[c])", text.names.of(op.getRing())));
  else
    text.define(op.getResult(), text.names.of(op.getRing()) + "[c]");
}

static void write_publish_max(KernelText& text, warp::PublishMaxOp op) {
  std::vector<std::string> maxima;
  std::vector<warp::RingOp> rings;
  for (warp::PublishMaxOp x : row_from(op)) {
    if (auto current = x.getX().getDefiningOp<warp::CurrentOp>())
      rings.push_back(current.getRing().getDefiningOp<warp::RingOp>());
    else
      maxima.push_back(fmt::format("maximum({}, {})", text.expr(x.getX()), text.names.of(x.getSlots())));
  }
  for (Copier copies : text.copiers.of(rings, "published", [](warp::RingOp ring) { return !!maximum_of(ring); }))
    text.line("{}.publish_maxima({}{}, c);", copies.variable,
              warp::is_of_team(copies.ring.getResult()) ? fmt::format("{}, ", text.traits.copier) : "",
              memory_of(text, maximum_of(copies.ring), &ChannelNames::team));
  if (!maxima.empty()) text.lines.call("publish_maxima(block,", maxima);
}

void add_inputs(OperationWriters& writers) {
  writers.add(write_ring);
  writers.add(write_copy);
  writers.add(write_current);
  writers.add(write_publish_max);
}

}  // namespace wkvc
