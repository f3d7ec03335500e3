// Operations that order warps: barriers, slots that roles hand over, copies that are waited for.
#include "codegen/emit/Surroundings.h"
#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

void write_meeting(KernelText& text) {
  if (text.traits.is_cluster) text.line("block.cluster_barrier();");
}

static void write_barrier(KernelText& text, warp::BarrierOp op) {
  if (op.getRefuses())
    text.line("if (guard.refuses_so_far<{}>()) return wait_copies<0>();", warp::row_warps(text.kernel));
  else
    text.line("{}.barrier();", warps_of(op));
}

static void leave_out(KernelText& text, const std::vector<std::string>& statements) {
  text.line("if (guard.leaves_out<Slots>(first)) {{");
  const Braces braces(text);
  for (const std::string& statement : statements) text.line("{}", statement);
  text.line("continue;");
}

// Returns whether rounds are left out once something that a plain kernel gave is not finite. The last of a block's
// operations of this kind says so, behind which the slots of all channels are at hand.
template <class SlotOp>
static bool leaves_out_rounds(SlotOp op) {
  const auto all = llvm::to_vector(op->getBlock()->template getOps<SlotOp>());
  return all.back() == op && llvm::any_of(all, [](SlotOp each) { return warp::channel_named_by(each).getRefuses(); });
}

// Slots of rounds that are left out are handed over all the same.
static void write_acquire(KernelText& text, warp::AcquireOp op) {
  text.line("{}.claim();", text.channel_of(op).team);
  if (!leaves_out_rounds(op)) return;
  std::vector<std::string> statements{"wait_copies<0>();"};
  for (const auto& [channel, names] : text.channels) statements.push_back(names.team + ".publish();");
  leave_out(text, statements);
}

static void write_get(KernelText& text, warp::GetOp op) {
  text.line("{}.await();", text.channel_of(op).slot);
  if (!leaves_out_rounds(op)) return;
  std::vector<std::string> statements;
  for (const auto& [channel, names] : text.channels) statements.push_back(names.slot + ".release();");
  leave_out(text, statements);
}

static void write_put(KernelText& text, warp::PutOp op) { text.line("{}.publish();", text.channel_of(op).team); }

static void write_release(KernelText& text, warp::ReleaseOp op) {
  text.line("{}.release();", text.channel_of(op).slot);
}

// The slots of a channel are declared with the teams (Prologue.cpp).
static void write_channel(KernelText&, warp::ChannelOp) {}

static void write_before_async_reads(KernelText& text, warp::BeforeAsyncReadsOp) {
  text.line("block.before_async_reads();");
}

static void write_commit_copies(KernelText& text, warp::CommitCopiesOp) { text.line("commit_copies();"); }

static void write_wait_copies(KernelText& text, warp::WaitCopiesOp op) {
  text.line("wait_copies<{}>();", op.getPending());
}

void add_sync(OperationWriters& writers) {
  writers.add(write_barrier);
  writers.add(write_channel);
  writers.add(write_acquire);
  writers.add(write_get);
  writers.add(write_put);
  writers.add(write_release);
  writers.add(write_before_async_reads);
  writers.add(write_commit_copies);
  writers.add(write_wait_copies);
}

}  // namespace wkvc
