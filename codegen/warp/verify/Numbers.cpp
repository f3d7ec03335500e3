// What kernels and combinations of segments say of themselves: names, and numbers of warps, teams, blocks and bytes.
#include "codegen/rec/Limits.h"
#include "codegen/rec/Names.h"
#include "codegen/schedule/Faults.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Channels.h"
#include "codegen/warp/verify/Rules.h"
#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

// Of tensors that are no recurrence's own.
bool is_own_name(llvm::StringRef name) {
  return name == "initial_state" || name == "segment_states" || name == "segment_gradients";
}

// A channel's own numbers.
LogicalResult verify_channel(ChannelOp channel) {
  auto kernel = channel->getParentOfType<KernelOp>();
  if (!kernel.getSchedule().by_teams()) return channel.emitOpError("belongs in a kernel of teams");
  if (const int rounds = kernel.getSchedule().rounds(); !in_range(channel.getDepth(), 1, rounds))
    return channel.emitOpError() << "has " << signed_value(channel.getDepth())
                                 << " slots for each chunk of a round; expected " << (rounds > 1 ? "1 to " : "")
                                 << rounds;
  const int64_t most = signed_value(kernel.getSharedBytes());
  for (const uint64_t bytes : {channel.getOffset(), channel.getBytes()})
    if (!in_range(bytes, 0, most) || signed_value(bytes) % 16)
      return channel.emitOpError() << "says " << signed_value(bytes)
                                   << " bytes; expected a multiple of 16, at most the " << most << " of the kernel";
  if (channel.getRefuses() && !kernel.getPlain()) return channel.emitOpError("refuses: it belongs in a plain kernel");
  return success();
}

// Offsets in the slots of a channel begin where those of the channel `before` end; those of the first channel, behind
// what a team has.
LogicalResult verify_offset(ChannelOp channel, ChannelOp before) {
  const int64_t offset = signed_value(channel.getOffset());
  if (!before && !is_handed_over(channel) && offset > 0)
    return channel.emitOpError() << "begins at byte " << offset << "; expected 0 where no role prepares rounds ahead";
  if (!before || offset == end_of_offsets(before)) return success();
  return channel.emitOpError() << "begins at byte " << offset << "; expected " << end_of_offsets(before)
                               << ", where the channel before it ends";
}

// The slots and what teams have take all of a kernel's shared memory.
LogicalResult verify_channels(KernelOp kernel) {
  ChannelOp last;
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    if (failed(verify_channel(channel)) || failed(verify_offset(channel, last))) return failure();
    last = channel;
  }
  if (!last && kernel.getSchedule().by_teams())
    return kernel.emitOpError("of teams needs a warp.channel, with a slot for each chunk of a round");
  if (!last || end_of_slots(last) == signed_value(kernel.getSharedBytes())) return success();
  return last.emitOpError() << "makes " << end_of_slots(last)
                            << " bytes of shared memory with what lies before it, not "
                            << signed_value(kernel.getSharedBytes());
}

LogicalResult verify_teams(KernelOp kernel, int64_t warps) {
  int64_t teams = kernel.getTeams();
  if (!in_range(kernel.getTeams(), 1, sm_90a.most_teams()) || warps % teams)
    return kernel.emitOpError() << "has " << teams << " teams; expected a number that divides its " << warps
                                << " warps, up to " << sm_90a.most_teams();
  return verify_channels(kernel);
}

// Teams of warps of their own, behind those of the rows.
LogicalResult verify_warps(KernelOp kernel, int64_t row_warps) {
  const int64_t warps = signed_value(kernel.getWarps()),
                of_teams = kernel.getTeams() * kernel.getSchedule().prepare.warps;
  if (of_teams > 0 && warps != row_warps + of_teams)
    return kernel.emitOpError() << "has " << warps << " warps; expected " << row_warps << " for rows and " << of_teams
                                << " of teams, as its schedule says";
  return verify_teams(kernel, of_teams > 0 ? of_teams : warps);
}

// A plain kernel is the first of two that guarded numerics make.
LogicalResult verify_schedule(KernelOp kernel) {
  Schedule schedule = kernel.getSchedule();
  if (kernel.getPlain()) schedule.numerics = Numerics::guarded;
  if (auto fault = fault_of(schedule, kernel.getBackward(), CalledBy::fields))
    return kernel.emitOpError() << "has a schedule that no kernel can have: " << *fault;
  return success();
}

// What a kernel may say that it copies ahead; `automatic` says nothing.
llvm::SmallVector<Ahead> possible_prefetches(KernelOp kernel) {
  if (has_slots(kernel)) {
    const bool reads = kernel.getPlain() && !has_producers(kernel) && sm_90a.is_wide(kernel.getKeyDim());
    return reads ? llvm::SmallVector<Ahead>{Ahead::inputs, Ahead::early, Ahead::read}
                 : llvm::SmallVector<Ahead>{Ahead::inputs, Ahead::early};
  }
  llvm::SmallVector<Ahead> possible{Ahead::none, Ahead::inputs};
  bool copies_states = false, has_groups = false;
  kernel.walk([&](CopySavedOp) { copies_states = true; });
  kernel.walk([&](SweepOp loop) { has_groups |= loop.getOver() == Over::groups; });
  if (copies_states) possible.push_back(Ahead::states);
  if (copies_states && has_groups) possible.push_back(Ahead::groups);
  return possible;
}

LogicalResult verify_prefetch(KernelOp kernel) {
  const ScheduleField& field = *find_field("memory", "prefetch");
  const Ahead given = kernel.getSchedule().memory.prefetch;
  const auto possible = possible_prefetches(kernel);
  if (given == Ahead::automatic || llvm::is_contained(possible, given)) return success();
  std::string words;
  for (const Ahead one : possible) words += (words.empty() ? "" : " or ") + value_text(field, static_cast<int>(one));
  return kernel.emitOpError() << "has memory(prefetch = " << value_text(field, static_cast<int>(given))
                              << "), which its loops and copies are not of; expected " << words;
}

LogicalResult verify_numbers(KernelOp kernel) {
  if (!in_range(kernel.getWarps(), 1, sm_90a.block.warps))
    return kernel.emitOpError("a block has 1 to 32 warps, not ") << signed_value(kernel.getWarps());
  if (!in_range(kernel.getBlocks(), 1, sm_90a.sm.blocks))
    return kernel.emitOpError("a multiprocessor holds 1 to 32 blocks, not ") << kernel.getBlocks();
  for (auto [what, extent] : {std::pair{"chunk", kernel.getChunk()}, std::pair{"key_dim", kernel.getKeyDim()},
                              std::pair{"value_dim", kernel.getValueDim()}})
    if (!rec::is_extent(signed_value(extent)))
      return kernel.emitOpError() << what << " is " << signed_value(extent) << "; expected " << rec::extents_text;
  int64_t rows = signed_value(kernel.getValueDim()) + map_rows(kernel);
  if (failed(verify_schedule(kernel))) return failure();
  if (rows / 16 % kernel.getCluster())
    return kernel.emitOpError() << "has " << rows << " rows for " << kernel.getCluster()
                                << " blocks; expected 16 for each warp";
  if (kernel.getPlain() && kernel.getRefused())
    return kernel.emitOpError("is plain, and for what a plain one refuses; expected one of them");
  const bool ahead = kernel.getSchedule().rounds() > 1;
  if (!ahead && rows != 16 * signed_value(kernel.getWarps()))
    return kernel.emitOpError("has ") << signed_value(kernel.getWarps()) << " warps for " << rows
                                      << " rows of states and maps; expected one for each 16";
  if (kernel.getSummary() && !rec::is_map(*kernel.getSummary()))
    return kernel.emitOpError() << "has a \"" << *kernel.getSummary() << "\" map; expected " << rec::maps_text;
  if (!in_range(kernel.getSharedBytes(), 0, sm_90a.block.shared_bytes))
    return kernel.emitOpError() << "takes " << signed_value(kernel.getSharedBytes())
                                << " bytes of shared memory; a block has at most " << sm_90a.block.shared_bytes;
  return verify_warps(kernel, rows / 16 / kernel.getCluster());
}

}  // namespace

int64_t map_rows(KernelOp kernel) {
  if (!kernel.getSummary()) return 0;
  return *kernel.getSummary() == "full" ? signed_value(kernel.getKeyDim()) : 16;
}

int64_t row_warps(KernelOp kernel) {
  if (!has_producers(kernel)) return signed_value(kernel.getWarps());
  return (signed_value(kernel.getValueDim()) + map_rows(kernel)) / (16 * kernel.getCluster());
}

int64_t round_chunks(KernelOp kernel) { return kernel.getTeams() * kernel.getCluster(); }

bool goes_again(KernelOp kernel) {
  return kernel.walk([](AgainOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

int64_t team_warps(KernelOp kernel) {
  int64_t behind = signed_value(kernel.getWarps()) - row_warps(kernel);
  return (has_producers(kernel) ? behind : row_warps(kernel)) / kernel.getTeams();
}

LogicalResult verify_architecture(Operation* op, llvm::StringRef arch) {
  if (is_target(arch)) return success();
  return op->emitOpError() << "arch is \"" << arch << "\"; expected " << sm_90a.arch;
}

// Checks what a block has at once.
static LogicalResult verify_block(CombineOp op) {
  const int64_t strips = signed_value(op.getStrips()), rows = signed_value(op.getMapRows());
  const int64_t keys = signed_value(op.getKeyDim()), values = signed_value(op.getValueDim());
  const int64_t bytes = signed_value(op.getSharedBytes());
  if (strips < 1 || values / 16 % strips != 0 || strips * keys / 16 > sm_90a.block.warps)
    return op.emitOpError() << "has " << strips << " strips; expected a divisor of " << values / 16 << " for at most "
                            << sm_90a.block.warps << " warps, " << keys / 16 << " a strip";
  if (rows < 16 || rows % 16 != 0 || keys % rows != 0)
    return op.emitOpError() << "has " << rows << " map_rows; expected a divisor of " << keys << " keys that 16 divides";
  if (bytes != 0 && !rec::is_sram_budget(bytes))
    return op.emitOpError() << "has " << bytes << " bytes of shared memory; expected 0 or " << rec::sram_budgets_text;
  return success();
}

LogicalResult CombineOp::verify() {
  for (llvm::StringRef name : {getSymName(), getOp(), getInitial(), getWorkspace()})
    if (auto fault = rec::name_fault(name); fault && !is_own_name(name)) return emitOpError() << *fault;
  if (!rec::is_map(getMap())) return emitOpError() << "has a \"" << getMap() << "\" map; expected " << rec::maps_text;
  if (int64_t segments = signed_value(getSegments()); segments < 2 || !rec::is_segment_count(segments))
    return emitOpError() << "combines " << segments << " segments; expected 2 to " << rec::max_segments;
  for (auto [what, extent] : {std::pair{"key_dim", getKeyDim()}, std::pair{"value_dim", getValueDim()}})
    if (!rec::is_extent(signed_value(extent)))
      return emitOpError() << what << " is " << signed_value(extent) << "; expected " << rec::extents_text;
  return failed(verify_architecture(*this, getArch())) ? failure() : verify_block(*this);
}

LogicalResult KernelOp::verify() {
  for (llvm::StringRef name : {getSymName(), getOp()})
    if (auto fault = rec::name_fault(name)) return emitOpError() << *fault;
  if (!rec::is_compute(getCompute()))
    return emitOpError() << "compute is \"" << getCompute() << "\"; expected " << rec::computes_text;
  if (failed(verify_architecture(*this, getArch()))) return failure();
  return failed(verify_prefetch(*this)) ? failure() : verify_numbers(*this);
}

}  // namespace wkvc::warp
