// Which warps do what is written, and over which chunks: loops, rounds of teams, groups, barriers.
#include "codegen/emit/Emitter.h"
#include "codegen/warp/Registers.h"

using namespace mlir;

namespace wkvc {

void Emitter::write_rows() {
  const std::string warp =
      is_cluster() ? fmt::format("({} * block.rank + block.warp)", warp::row_warps(kernel_)) : "block.warp";
  if (!kernel_.getSummary()) {
    line("const int row0 = 16 * {};  // first of this warp's value rows", warp);
    return;
  }
  line("const int row0 = 16 * {};  // first of this warp's rows, of the state or of the map behind it", warp);
  line("const bool of_state = row0 < {};", kernel_.getValueDim());
  line("const int value_row0 = of_state ? row0 : 0;  // what rows of the map read is not used");
}

void Emitter::write_team() {
  if (!has_teams()) return;
  if (!goes_ahead()) {
    line("using Slots = RoundSlots<{}, {}>;  // teams, bytes of a chunk's slot", kernel_.getTeams(),
         warp::channel_of(kernel_).getBytes());
    line("const Team<Slots> team(block);  // which prepares one chunk of each round");
    return;
  }
  line("using Slots = RoundSlots<{}, {}, {}, {}{}>;  // teams, bytes of a chunk's slot and of a team, slots by turns{}",
       kernel_.getTeams(), warp::channel_of(kernel_).getBytes(), warp::team_bytes(kernel_), kernel_.getRounds(),
       is_cluster() ? fmt::format(", {}", kernel_.getCluster()) : "", is_cluster() ? ", blocks" : "");
  line("const Team<Slots, {}> teams(block);  // of the warps that prepare rounds ahead", warp::row_warps(kernel_));
  if (leaves_out_rounds()) line("block.begin_rounds();");
  if (is_cluster() && kernel_.getPlain()) line("block.lower_flag();");
  line("begin_slots<Slots>(block, {});", warp::row_warps(kernel_));
}

bool Emitter::leaves_out_rounds() {
  auto channel = warp::channel_of(kernel_);
  return channel && warp::is_handed_over(channel) && channel.getRefuses();
}

// Other blocks may arrive at this one's mbarriers, and send to it, until they come here, too.
void Emitter::write_meeting() {
  if (is_cluster()) line("block.cluster_barrier();");
}

// A segment that none follows needs no summary.
void Emitter::write_chunk_range() {
  if (!is_cut()) {
    line("const int chunks = chunk_count<{}>(tokens_of(args, block));", kernel_.getChunk());
    return;
  }
  if (kernel_.getSummary()) line("if (block.segment == {}) return;  // no segment follows", last_segment());
  std::string unit = fmt::format("{}, {}", kernel_.getChunk(), std::max<uint64_t>(kernel_.getSavedEvery(), 1));
  line("const int begin = segment_begin<{}>(tokens_of(args, block), block, block.segment);", unit);
  line("const int end = segment_begin<{}>(tokens_of(args, block), block, block.segment + 1);", unit);
}

void Emitter::write(warp::BarrierOp op) {
  if (op.getRefuses())
    line("if (guard.refuses_so_far<{}>()) return wait_copies<0>();", warp::row_warps(kernel_));
  else
    line("{}.barrier();", warps_);
}

// Slots are handed over all the same.
void Emitter::write(warp::AcquireOp) {
  line("team.claim();");
  if (leaves_out_rounds()) leave_out({"wait_copies<0>();", "team.publish();"});
}

void Emitter::write(warp::GetOp) {
  line("slot.await();");
  if (leaves_out_rounds()) leave_out({"slot.release();"});
}

void Emitter::leave_out(std::initializer_list<const char*> statements) {
  line("if (guard.leaves_out<Slots>(first)) {{");
  for (const char* statement : statements) line("  {}", statement);
  line("  continue;");
  line("}}");
}

// That of the loop being written, and what the chunks after it are compared with.
std::string Emitter::first_chunk(bool backward) {
  if (in_groups_) return backward ? "last" : "first";
  return backward ? end() + " - 1" : begin();
}

// So many after the current one, or before the loop after its first.
std::string Emitter::chunk_ahead(bool backward, uint64_t ahead) {
  std::string chunk = loop_ || has_teams() ? "c" : first_chunk(backward);
  if (!ahead) return chunk;
  return chunk == "0" ? std::to_string(ahead) : fmt::format("{} {} {}", chunk, backward ? '-' : '+', ahead);
}

std::string Emitter::is_in_loop(const std::string& chunk, bool backward) {
  if (backward) return fmt::format("{} >= {}", chunk, in_groups_ ? "first" : begin());
  return fmt::format("{} < {}", chunk, in_groups_ ? "last" : end());
}

void Emitter::declare_state(warp::SweepOp op) {
  Value state = op.getState();
  line("auto {} = {};", names_.declare(state, name_of(state)), expr(op.getInit()));
  names_.alias(op.getResult(), state);
}

void Emitter::write(warp::SweepOp op) {
  if (op.getBeside()) return;  // written with the one before it
  if (op.getState()) declare_state(op);
  auto beside = dyn_cast_or_null<warp::SweepOp>(op->getNextNode());
  if (beside && beside.getBeside())
    write_both(op, beside);
  else if (op.getOver() == warp::Over::groups)
    write_groups(op);
  else if (op.getOver() == warp::Over::rounds)
    write_rounds(op.getBody(), op.getBackward());
  else
    write_chunks(op);
}

// What the first state's next chunk needs alone comes last: then the rest of both is one piece of code, in which they
// need not wait for each other.
void Emitter::write_both(warp::SweepOp op, warp::SweepOp beside) {
  declare_state(beside);
  line("for (int step = 0; step < round_end - first; ++step) {{");
  indent_ += 2;
  names_.open_block();
  line("const int c = first + step;");
  begin_chunk(op);
  Block& body = op.getBody().front();
  auto ends = body.getOps<warp::EndLastOp>();
  const auto end = ends.empty() ? body.end() : Block::iterator(*ends.begin());
  emit_all({body.begin(), end});
  line("{{");
  line("  const int c = round_end - 1 - step;");
  indent_ += 2;
  begin_chunk(beside);
  indent_ -= 2;
  emit_region(beside.getBody());
  loop_ = op;
  if (end != body.end()) {
    line("if (c + 1 < round_end) {{  // the rest is for the next chunk");
    indent_ += 2;
    names_.open_block();
    emit_all({std::next(end), body.end()});
    names_.close_block();
    indent_ -= 2;
    line("}}");
  }
  loop_ = {};
  names_.close_block();
  indent_ -= 2;
  line("}}");
}

void Emitter::write_groups(warp::SweepOp op) {
  auto every = kernel_.getSavedEvery();
  line("for (int g = ({} + {}) / {}{}; g >= {}; --g) {{", end(), every - 1, every, op.getAhead() ? "" : " - 1",
       lowest_group());
  line("  const int first = {0} * g, last = (first + {0} < {1} ? first + {0} : {1}) - 1;  // chunks", every, end());
  in_groups_ = true;
  emit_region(op.getBody());
  in_groups_ = false;
}

// Those of the state go on where those that prepare chunks return. What these do before their rounds asks by itself who
// does it.
void Emitter::write(warp::RoleOp op) {
  Block& body = op.getBody().front();
  if (op.getWork() == warp::Work::state) {
    if (op.getRegisters()) line("block.take_registers<{}>();", *op.getRegisters());
    return emit_block(body);
  }
  auto rounds = *body.getOps<warp::SweepOp>().begin();
  emit_all({body.begin(), Block::iterator(rounds)});
  line("if (block.warp >= {}) {{", op.getFirst());
  indent_ += 2;
  if (op.getRegisters()) line("block.give_registers<{}>();", *op.getRegisters());
  emit_all({Block::iterator(rounds), body.end()});
  write_meeting();
  line("return;");
  indent_ -= 2;
  line("}}");
}

void Emitter::write_rounds(Region& body, bool backward) {
  if (backward)
    line("for (int first = last_round<Slots>({0}, {1}); first >= {0}; first -= Slots::kChunks) {{", begin(), end());
  else
    line("for (int first = {}; first < {}; first += Slots::kChunks) {{", begin(), end());
  line("  const int round_end = first + Slots::kChunks < {0} ? first + Slots::kChunks : {0};", end());
  in_rounds_ = true;
  emit_region(body);
  in_rounds_ = false;
}

void Emitter::write(warp::TeamOp op) {
  std::string first = in_rounds_ ? "first + " : is_cut() ? "begin + " : "";
  if (kernel_.getBackward() && !in_rounds_)
    line("if (const int c = team.last_chunk{2}({0}, {1}); c >= {0}) {{", begin(), end(),
         goes_again_ ? fmt::format("<{}>", kernel_.getSavedEvery()) : "");
  else
    line("if (const int c = {}{}.chunk; c < {}) {{", first, copier(), in_rounds_ ? "round_end" : end());
  indent_ += 2;
  if (goes_ahead()) line("const auto team = teams.in_round({});", in_rounds_ ? before_round() : "0");
  line("const int valid = valid_rows<{}>(tokens_of(args, block), c);  // tokens of this chunk", kernel_.getChunk());
  write_buffers_of(op.getBody(), "team");
  warps_ = "team";
  names_.open_block();
  emit_block(op.getBody().front());
  names_.close_block();
  indent_ -= 2;
  line("}}");
  warps_ = "block";
}

std::string Emitter::lowest_group() {
  return is_cut() ? fmt::format("begin / {}", kernel_.getSavedEvery()) : std::string("0");
}

void Emitter::write_chunks(warp::SweepOp op) {
  bool group = op.getOver() == warp::Over::group || op.getOver() == warp::Over::round;
  const std::string last = in_rounds_ ? "round_end - 1" : "last", behind = in_rounds_ ? "round_end" : "last";
  if (op.getBackward())
    line("for (int c = {}; c >= {}; --c) {{", group ? last : end() + " - 1", group ? "first" : begin());
  else
    line("for (int c = {}; c < {}; ++c) {{", group ? "first" : begin(), group ? behind : end());
  indent_ += 2;
  begin_chunk(op);
  indent_ -= 2;
  emit_region(op.getBody());
  loop_ = {};
}

void Emitter::begin_chunk(warp::SweepOp op) {
  line("const int valid = valid_rows<{}>(tokens_of(args, block), c);  // tokens of this chunk", kernel_.getChunk());
  loop_ = op;
  if (!has_teams()) return;
  line("const Slot<Slots> slot(block, c - first{});", goes_ahead() ? ", " + before_round() : "");
  write_buffers_of(op.getBody(), "slot");
}

void Emitter::write(warp::YieldOp op) {
  auto again = dyn_cast<warp::AgainOp>(op->getParentOp());
  Value state =
      again ? Value(again.getResult()) : Value(cast<warp::SweepOp>(op->getParentOp()).getBody().getArgument(0));
  if (expr(op.getNext()) != names_.of(state)) line("{} = {};", names_.of(state), expr(op.getNext()));
}

void Emitter::write(warp::SlabsOp op) {
  names_.open_block();
  std::string column = names_.declare(op.getBody().getArgument(0), "column");
  if (op.getStrips()) {
    line("{{");
    line("  const int {} = {} * {}.warp;", column, warp::slab_width(op), warps_);
  } else {
    line("for (int {0} = 16 * {1}.warp; {0} < {2}; {0} += 16 * {1}.warps) {{", column, warps_, op.getColumns());
  }
  emit_region(op.getBody());
  names_.close_block();
}

void Emitter::write(warp::ShareOp op) {
  line("const int {} = {} * {}.warp;  // first of this warp's columns", names_.declare(op.getResult(), "column"),
       op.getWidth(), warps_);
}

void Emitter::write(warp::OnWarpOp op) {
  line("if ({}.warp == {}) {{", warps_, op.getWarp());
  emit_region(op.getBody());
}

// Emitted inside the loop over rounds, as the body of the round before.
void Emitter::write(warp::AgainOp op) {
  line("auto {} = {};", declare(op.getResult()), expr(op.getSaved()));
  line("if (first % {} != 0) {{  // through the round before, which has a saved state", kernel_.getSavedEvery());
  line("  const int before = first - Slots::kChunks;");
  line("  const int first = before, round_end = before + Slots::kChunks;");
  emit_region(op.getBody());
}

}  // namespace wkvc
