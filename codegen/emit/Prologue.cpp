#include "codegen/emit/Prologue.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

static constexpr size_t kLongestLine = 100;

static void write_output_rows(KernelText& text) {
  std::map<std::string, std::string> dtypes;  // of the tensors whose rows are written
  text.kernel.walk([&](Operation* op) {
    if (auto store = dyn_cast<warp::StoreOutputOp>(op)) dtypes[store.getTensor().str()] = dtype_text(store.getDtype());
    if (auto store = dyn_cast<warp::StoreMatrixOp>(op))
      dtypes[store.getTensor().str()] = dtype_text(in_tensors(store.getDtype()));
  });
  for (const auto& [name, dtype] : dtypes) {
    NamedTensor& tensor = text.tensors.of(name);
    tensor.rows = text.names.unique(name + "_rows");
    text.line("const OutputRows<{}{}> {}({}, block);", dtype, text.traits.keeps_places ? "" : ", false", tensor.rows,
              tensor.variable);
  }
}

static void write_rows(KernelText& text) {
  const std::string warp = text.traits.is_cluster
                               ? fmt::format("({} * block.rank + block.warp)", warp::row_warps(text.kernel))
                               : "block.warp";
  if (!text.kernel.getSummary()) {
    text.line("const int row0 = 16 * {};  // first of this warp's value rows", warp);
    return;
  }
  text.line("const int row0 = 16 * {};  // first of this warp's rows, of the state or of the map behind it", warp);
  text.line("const bool of_state = row0 < {};", text.kernel.getValueDim());
  text.line("const int value_row0 = of_state ? row0 : 0;  // what rows of the map read is not used");
}

// A segment that none follows needs no summary.
static void write_chunk_range(KernelText& text) {
  warp::KernelOp kernel = text.kernel;
  if (!text.traits.is_cut) {
    text.line("const int chunks = chunk_count<{}>(tokens_of(args, block));", kernel.getChunk());
    return;
  }
  if (kernel.getSummary())
    text.line("if (block.segment == {}) return;  // no segment follows", text.traits.last_segment);
  const std::string unit = fmt::format("{}, {}", kernel.getChunk(), std::max<uint64_t>(kernel.getSavedEvery(), 1));
  text.line("const int begin = segment_begin<{}>(tokens_of(args, block), block, block.segment);", unit);
  text.line("const int end = segment_begin<{}>(tokens_of(args, block), block, block.segment + 1);", unit);
}

// Writes where the slots of a channel behind other channels lie, and the teams with these slots.
static void write_slots_behind(KernelText& text, warp::ChannelOp channel, const ChannelNames& names) {
  warp::KernelOp kernel = text.kernel;
  text.line(
      "using {} = RoundSlots<{}, {}, {}, {}, {}, {}, {}>;  // teams, bytes of a slot and a team, turns, blocks, first "
      "byte, offset",
      names.slots, kernel.getTeams(), channel.getBytes(), warp::team_bytes(kernel), channel.getDepth(),
      kernel.getCluster(), warp::begin_of_slots(channel), channel.getOffset());
  if (text.traits.goes_ahead)
    text.line("const Team<{}, {}> {}(block);", names.slots, warp::row_warps(kernel), names.teams);
  else
    text.line("const Team<{}> {}(block);", names.slots, names.team);
}

static void write_all_behind(KernelText& text) {
  for (const auto& [channel, names] : llvm::drop_begin(text.channels)) write_slots_behind(text, channel, names);
}

static void write_teams_ahead(KernelText& text) {
  warp::KernelOp kernel = text.kernel;
  auto first = text.channels.front().first;
  const bool is_cluster = text.traits.is_cluster;
  text.line(
      "using Slots = RoundSlots<{}, {}, {}, {}{}>;  // teams, bytes of a chunk's slot and of a team, slots by turns{}",
      kernel.getTeams(), first.getBytes(), warp::team_bytes(kernel), first.getDepth(),
      is_cluster ? fmt::format(", {}", kernel.getCluster()) : "", is_cluster ? ", blocks" : "");
  text.line("const Team<Slots, {}> teams(block);  // of the warps that prepare rounds ahead", warp::row_warps(kernel));
  write_all_behind(text);
  if (llvm::any_of(text.channels, [](auto& each) { return warp::ChannelOp(each.first).getRefuses(); }))
    text.line("block.begin_rounds();");
  if (is_cluster && kernel.getPlain()) text.line("block.lower_flag();");
  for (const auto& [channel, names] : text.channels)
    text.line("begin_slots<{}>(block, {});", names.slots, warp::row_warps(kernel));
}

static void write_teams(KernelText& text) {
  if (text.traits.goes_ahead) return write_teams_ahead(text);
  text.line("using Slots = RoundSlots<{}, {}>;  // teams, bytes of a chunk's slot", text.kernel.getTeams(),
            text.channels.front().first.getBytes());
  text.line("const Team<Slots> team(block);  // which prepares one chunk of each round");
  write_all_behind(text);
}

// Names one constant for each buffer, so that regions which declare a buffer each for itself say the same place.
// Returns the constants with their values.
static std::vector<std::string> name_places(KernelText& text) {
  std::vector<std::string> constants;
  const auto place = [&](Operation* op, llvm::StringRef suffix, uint64_t offset) {
    const auto [name, number] = name_of(op->getResult(0)).rsplit("_shared");
    const std::string constant = text.names.unique(("at_" + name + number + suffix).str());
    constants.push_back(fmt::format("{} = {}", constant, offset));
    return constant;
  };
  text.kernel.walk([&](Operation* op) {
    llvm::TypeSwitch<Operation*>(op).Case<warp::RingOp, warp::BufferOp, warp::FloatsOp, warp::StagedOp>(
        [&](auto buffer) { text.places[op].data = place(op, "", buffer.getOffset()); });
    if (auto buffer = dyn_cast<warp::BufferOp>(op); buffer && buffer.getScale())
      text.places[op].scale = place(op, "_scale", *buffer.getScale());
  });
  return constants;
}

static void write_places(KernelText& text) {
  const std::vector<std::string> places = name_places(text);
  if (places.empty()) return;
  text.line("// Where buffers begin, in bytes from the start of {}{}.",
            text.traits.goes_ahead  ? "a team's memory, and from Slots::kOfTeam on of a chunk's slot"
            : text.traits.has_teams ? "a chunk's slot"
                                    : "the block's shared memory",
            text.channels.size() > 1 ? "; of other channels, from their kOffset on" : "");
  std::string constants;
  for (const std::string& each : places) {
    if (constants.size() + each.size() > kLongestLine) {
      text.line("constexpr int {};", constants);
      constants.clear();
    }
    constants += (constants.empty() ? "" : ", ") + each;
  }
  text.line("constexpr int {};", constants);
}

static void reserve_names(Identifiers& names) {
  for (const char* used :
       {"args",      "block", "team",   "teams", "slot",  "c",    "chunks",   "begin",      "end",   "first", "last",
        "round_end", "step",  "before", "g",     "valid", "row0", "of_state", "value_row0", "Slots", "guard"})
    names.unique(used);
}

void begin_kernel(KernelText& text) {
  const Manifest& manifest = text.manifest;
  reserve_names(text.names);
  text.channels = names_of_channels(text.kernel, text.names);
  text.line("{}{}WKVC_KERNEL({}, {}, {}, {}{}) {{", header_comment(text.kernel), preamble(manifest), manifest.kernel,
            manifest.tensors.size(), manifest.warps, text.kernel.getBlocks(),
            text.traits.is_cluster ? fmt::format(", {}", text.kernel.getCluster()) : "");
  text.lines.open();
  text.tensors.declare(manifest.tensors, text.names, text.lines);
  write_output_rows(text);
  write_rows(text);
  write_chunk_range(text);
  if (text.traits.has_teams) write_teams(text);
  write_places(text);
}

}  // namespace wkvc
