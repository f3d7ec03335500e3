// Which warps do an operation: roles, teams, slabs, one warp.
#include "codegen/emit/Surroundings.h"
#include "codegen/emit/operations/Operations.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

// Operations before the rounds ask by themselves which warps do them.
static void write_preparing(KernelText& text, warp::RoleOp op) {
  Block& body = op.getBody().front();
  auto sweep = *body.getOps<warp::SweepOp>().begin();
  write_all(text, {body.begin(), Block::iterator(sweep)});
  text.line("if (block.warp >= {}) {{", op.getFirst());
  text.lines.open();
  if (op.getRegisters()) text.line("block.give_registers<{}>();", *op.getRegisters());
  write_all(text, {Block::iterator(sweep), body.end()});
  write_meeting(text);
  text.line("return;");
  text.lines.close();
}

// Warps of the state go on where those that prepare chunks return.
static void write_role(KernelText& text, warp::RoleOp op) {
  if (op.getWork() != warp::Work::state) return write_preparing(text, op);
  if (op.getRegisters()) text.line("block.take_registers<{}>();", *op.getRegisters());
  write_body(text, op.getBody());
}

// Writes the first line of a team's block: which chunk is the team's, and whether there is one.
static void begin_team(KernelText& text, bool in_rounds) {
  const KernelTraits& traits = text.traits;
  if (text.kernel.getBackward() && !in_rounds) {
    const std::string every = traits.goes_again ? fmt::format("<{}>", text.kernel.getSavedEvery()) : "";
    text.line("if (const int c = team.last_chunk{2}({0}, {1}); c >= {0}) {{", traits.begin, traits.end, every);
    return;
  }
  const char* first = in_rounds ? "first + " : traits.is_cut ? "begin + " : "";
  text.line("if (const int c = {}{}.chunk; c < {}) {{", first, traits.copier, in_rounds ? "round_end" : traits.end);
}

static void write_team(KernelText& text, warp::TeamOp op) {
  const bool in_rounds = is_in_rounds(op);
  begin_team(text, in_rounds);
  const Braces braces(text);
  if (text.traits.goes_ahead)
    for (const auto& [channel, names] : text.channels)
      text.line("const auto {} = {}.in_round({});", names.team, names.teams,
                in_rounds ? text.traits.before_round : "0");
  write_valid(text);
  write_buffers_of(text, op.getBody(), &ChannelNames::team);
  write_body(text, op.getBody());
}

static void write_slabs(KernelText& text, warp::SlabsOp op) {
  const NamesOfBlock around(text.names);
  const char* warps = warps_of(op);
  const std::string column = text.names.declare(op.getBody().getArgument(0), "column");
  if (op.getStrips())
    text.line("{{");
  else
    text.line("for (int {0} = 16 * {1}.warp; {0} < {2}; {0} += 16 * {1}.warps) {{", column, warps, op.getColumns());
  const Braces braces(text);
  if (op.getStrips()) text.line("const int {} = {} * {}.warp;", column, warp::slab_width(op), warps);
  write_body(text, op.getBody());
}

static void write_share(KernelText& text, warp::ShareOp op) {
  text.line("const int {} = {} * {}.warp;  // first of this warp's columns",
            text.names.declare(op.getResult(), "column"), op.getWidth(), warps_of(op));
}

static void write_on_warp(KernelText& text, warp::OnWarpOp op) {
  text.line("if ({}.warp == {}) {{", warps_of(op), op.getWarp());
  const Braces braces(text);
  write_body(text, op.getBody());
}

static void write_note(KernelText& text, warp::NoteOp op) {
  const llvm::StringRef note = op.getText();
  if (note.contains_insensitive("\n") || note.ends_with("\\")) user_error("kernel: a note is one line of text");
  text.line("// {}", note.str());
}

void add_control(OperationWriters& writers) {
  writers.add(write_role);
  writers.add(write_team);
  writers.add(write_slabs);
  writers.add(write_share);
  writers.add(write_on_warp);
  writers.add(write_note);
}

}  // namespace wkvc
