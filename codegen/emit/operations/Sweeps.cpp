// Over which chunks warps go: loops over chunks, groups and rounds, and what a chunk leaves for the next one.
#include "codegen/emit/ChunkNumber.h"
#include "codegen/emit/Surroundings.h"
#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

static void declare_state(KernelText& text, warp::SweepOp op) {
  Value state = op.getState();
  text.line("auto {} = {};", text.names.declare(state, name_of(state)), text.expr(op.getInit()));
  text.names.alias(op.getResult(), state);
}

void write_valid(KernelText& text) {
  text.line("const int valid = valid_rows<{}>(tokens_of(args, block), c);  // tokens of this chunk",
            text.kernel.getChunk());
}

static void begin_chunk(KernelText& text, warp::SweepOp op) {
  write_valid(text);
  if (!text.traits.has_teams) return;
  for (const auto& [channel, names] : text.channels)
    text.line("const Slot<{}> {}(block, c - first{});", names.slots, names.slot,
              text.traits.goes_ahead ? fmt::format(", {}", text.traits.before_round) : "");
  write_buffers_of(text, op.getBody(), &ChannelNames::slot);
}

static void write_beside(KernelText& text, warp::SweepOp beside) {
  text.line("{{");
  const Braces braces(text);
  text.line("const int c = round_end - 1 - step;");
  begin_chunk(text, beside);
  write_body(text, beside.getBody());
}

// Operations behind `end_last` come last: then the rest of both sweeps is one piece of code, in which neither waits for
// the other.
static void write_both(KernelText& text, warp::SweepOp op, warp::SweepOp beside) {
  declare_state(text, beside);
  text.line("for (int step = 0; step < round_end - first; ++step) {{");
  const Braces braces(text);
  text.line("const int c = first + step;");
  begin_chunk(text, op);
  Block& body = op.getBody().front();
  auto ends = body.getOps<warp::EndLastOp>();
  const auto end = ends.empty() ? body.end() : Block::iterator(*ends.begin());
  write_all(text, {body.begin(), end});
  write_beside(text, beside);
  if (end == body.end()) return;
  text.line("if (c + 1 < round_end) {{  // the rest is for the next chunk");
  const Braces rest(text);
  write_all(text, {std::next(end), body.end()});
}

static void write_groups(KernelText& text, warp::SweepOp op) {
  const auto every = text.kernel.getSavedEvery();
  const char* end = text.traits.end;
  text.line("for (int g = ({} + {}) / {}{}; g >= {}; --g) {{", end, every - 1, every, op.getAhead() ? "" : " - 1",
            lowest_group(text.kernel, text.traits));
  const Braces braces(text);
  text.line("const int first = {0} * g, last = (first + {0} < {1} ? first + {0} : {1}) - 1;  // chunks", every, end);
  write_body(text, op.getBody());
}

static void write_rounds(KernelText& text, warp::SweepOp op) {
  const char *begin = text.traits.begin, *end = text.traits.end;
  if (op.getBackward())
    text.line("for (int first = last_round<Slots>({0}, {1}); first >= {0}; first -= Slots::kChunks) {{", begin, end);
  else
    text.line("for (int first = {}; first < {}; first += Slots::kChunks) {{", begin, end);
  const Braces braces(text);
  text.line("const int round_end = first + Slots::kChunks < {0} ? first + Slots::kChunks : {0};", end);
  write_body(text, op.getBody());
}

// The chunks of a loop, as expressions.
struct ChunkRange {
  std::string first, last, end;
};

static ChunkRange range_of(const KernelTraits& traits, warp::SweepOp op) {
  if (op.getOver() == warp::Over::chunks) return {traits.begin, fmt::format("{} - 1", traits.end), traits.end};
  if (is_in_rounds(op)) return {"first", "round_end - 1", "round_end"};
  return {"first", "last", "last"};  // forward over all of a group but its last chunk
}

static void write_chunks(KernelText& text, warp::SweepOp op) {
  const ChunkRange range = range_of(text.traits, op);
  if (op.getBackward())
    text.line("for (int c = {}; c >= {}; --c) {{", range.last, range.first);
  else
    text.line("for (int c = {}; c < {}; ++c) {{", range.first, range.end);
  const Braces braces(text);
  begin_chunk(text, op);
  write_body(text, op.getBody());
}

static void write_sweep(KernelText& text, warp::SweepOp op) {
  if (op.getBeside()) return;  // written with the one before it
  if (op.getState()) declare_state(text, op);
  auto beside = dyn_cast_or_null<warp::SweepOp>(op->getNextNode());
  if (beside && beside.getBeside()) return write_both(text, op, beside);
  if (op.getOver() == warp::Over::groups) return write_groups(text, op);
  if (op.isOverRounds()) return write_rounds(text, op);
  write_chunks(text, op);
}

static void write_end_last(KernelText& text, warp::EndLastOp) {
  text.line("if (c + 1 == round_end) break;  // the rest is for the next chunk");
}

// Written inside the loop over rounds, as the body of the round before.
static void write_again(KernelText& text, warp::AgainOp op) {
  text.line("auto {} = {};", text.declare(op.getResult()), text.expr(op.getSaved()));
  text.line("if (first % {} != 0) {{  // through the round before, which has a saved state",
            text.kernel.getSavedEvery());
  const Braces braces(text);
  text.line("const int before = first - Slots::kChunks;");
  text.line("const int first = before, round_end = before + Slots::kChunks;");
  write_body(text, op.getBody());
}

static void write_yield(KernelText& text, warp::YieldOp op) {
  auto again = dyn_cast<warp::AgainOp>(op->getParentOp());
  Value state = again ? Value(again.getResult()) : cast<warp::SweepOp>(op->getParentOp()).getState();
  const std::string next = text.expr(op.getNext()), variable = text.names.of(state);
  if (next != variable) text.line("{} = {};", variable, next);
}

void add_sweeps(OperationWriters& writers) {
  writers.add(write_sweep);
  writers.add(write_end_last);
  writers.add(write_again);
  writers.add(write_yield);
}

}  // namespace wkvc
