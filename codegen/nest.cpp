// The nest of a schedule: who runs which loops, and what each of them copies, computes, stores and gives.
#include <fmt/ranges.h>
#include <llvm/ADT/MapVector.h>
#include <mlir/IR/MLIRContext.h>

#include "codegen/compiler.h"
#include "codegen/ir/Text.h"
#include "codegen/nest/Explain.h"
#include "codegen/warp/Channels.h"
#include "codegen/warp/Warp.h"
#include "runtime/base/plural.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr size_t kWidth = 118;

class Nest {
 public:
  explicit Nest(warp::KernelOp kernel) : kernel_(kernel) {}

  std::string run() {
    line(fmt::format("{}: {}", kernel_.getSymName().str(), text_of(kernel_.getSchedule())));
    depth_ = 1;
    line(roles());
    for (Operation& op : kernel_.getBody().front()) visit(op);
    flush();
    return std::move(text_);
  }

 private:
  // The numbers that the schedule says: of warps, teams and bytes.
  std::string roles() {
    const int64_t rows = warp::row_warps(kernel_), copies = kernel_.getTeams(), each = warp::team_warps(kernel_);
    std::string text = fmt::format("{} with 16 rows of the state each", plural(rows, "warp"));
    if (warp::has_producers(kernel_))
      text += fmt::format(", and {} of {} of their own a step ahead", plural(copies, "team"), plural(each, "warp"));
    else if (copies > 1)
      text += fmt::format(", in {} of {}", plural(copies, "team"), plural(each, "warp"));
    if (kernel_.getPlain())
      text += "; without scales: blocks whose numbers do not fit leave the sequence to the next kernel";
    if (kernel_.getRefused()) text += "; with scales, for blocks that the kernel before left out";
    return text + fmt::format("; {} bytes of shared memory", kernel_.getSharedBytes());
  }

  void visit(Operation& op) {
    if (op.getNumRegions() != 0) return nest(op);
    if (auto channel = dyn_cast<warp::ChannelOp>(op)) return tell(channel);
    if (isa<warp::BarrierOp, warp::AcquireOp, warp::PutOp, warp::GetOp, warp::ReleaseOp>(op)) return meet(op);
    if (auto [verb, what] = deed(op); !what.empty() && !llvm::is_contained(deeds_[verb], what))
      deeds_[verb].push_back(what);
  }

  // Who fills the slots that a chunk of a step has, and who reads them.
  void tell(warp::ChannelOp channel) {
    flush();
    const bool handed = warp::is_handed_over(channel);
    line(fmt::format("channel {}: {} of {} bytes for each chunk of a step, {}", name_of(channel.getChannel()).str(),
                     plural(channel.getDepth(), "slot"), channel.getBytes(),
                     handed ? "from role prepare to role state" : "from each team to all warps"));
  }

  // A part of which there is nothing to tell, such as fences alone, has no heading either.
  void nest(Operation& op) {
    flush();
    const size_t before = text_.size();
    line(heading(op) + ":");
    const size_t behind = text_.size();
    ++depth_;
    for (Operation& inner : op.getRegion(0).front()) visit(inner);
    flush();
    --depth_;
    if (text_.size() == behind) text_.resize(before);
  }

  // Returns which channel the slot of an operation is of, where there are several.
  std::string of_channel(Operation& op) {
    auto channel = warp::channel_named_by(&op);
    if (!channel || llvm::hasSingleElement(kernel_.getBody().getOps<warp::ChannelOp>())) return "";
    return ", channel " + name_of(channel.getChannel()).str();
  }

  void meet(Operation& op) {
    flush();
    const bool of_team = op.getParentOfType<warp::TeamOp>() != nullptr;
    line(meeting(op, of_team) + of_channel(op));
  }

  static std::string meeting(Operation& op, bool of_team) {
    return isa<warp::AcquireOp>(op)   ? "waits until the state's warps have left its slot"
           : isa<warp::PutOp>(op)     ? "hands its slot over"
           : isa<warp::GetOp>(op)     ? "waits until the chunk is prepared"
           : isa<warp::ReleaseOp>(op) ? "leaves the chunk's slot"
           : of_team                  ? "-- the team's warps meet --"
                                      : "-- all warps meet --";
  }

  // What a loop or a role is about.
  std::string heading(Operation& op) {
    if (auto loop = dyn_cast<warp::SweepOp>(op)) return loop_heading(loop);
    if (auto on_warp = dyn_cast<warp::OnWarpOp>(op)) return fmt::format("warp {}", on_warp.getWarp());
    if (auto role = dyn_cast<warp::RoleOp>(op)) return role_heading(role);
    if (isa<warp::TeamOp>(op)) return "each team, for its chunk";
    if (isa<warp::AgainOp>(op)) return "through the first of two steps again, where the second has no saved state";
    if (auto slabs = dyn_cast<warp::SlabsOp>(op))
      return fmt::format("each warp, for {} columns at a time", warp::slab_width(slabs));
    return op.getName().stripDialect().str();
  }

  static std::string role_heading(warp::RoleOp role) {
    const uint64_t first = role.getFirst(), warps = role.getWarps();
    std::string text = fmt::format(
        "role {}: {}", warp::stringifyWork(role.getWork()).str(),
        warps == 1 ? fmt::format("warp {}", first) : fmt::format("warps {} to {}", first, first + warps - 1));
    if (role.getRegisters()) text += fmt::format(", {} registers a thread", *role.getRegisters());
    return text;
  }

  std::string loop_heading(warp::SweepOp loop) {
    const warp::Over over = loop.getOver();
    const std::string what =
        over == warp::Over::groups  ? fmt::format("group of {}", plural(kernel_.getSavedEvery(), "chunk"))
        : over == warp::Over::group ? "chunk of the group"
        : loop.isOverRounds()       ? fmt::format("step of {}", plural(warp::round_chunks(kernel_), "chunk"))
        : over == warp::Over::round ? "chunk of the step"
                                    : "chunk";
    const std::string carried = loop.getState() ? fmt::format(", carrying {}", name_of(loop.getState()).str()) : "";
    return fmt::format("for each {}{}{}{}", what, loop.getBackward() ? " from the last" : "", carried,
                       loop.getBeside() ? ", in one loop with the one before" : "");
  }

  // A verb, and what an operation does that to; nothing of what is no value of the program.
  static std::pair<const char*, std::string> deed(Operation& op) {
    if (auto copy = dyn_cast<warp::CopyOp>(op)) return {"copies", input_of(copy.getRing())};
    if (isa<warp::CopySavedOp>(op)) return {"copies", "a saved state"};
    if (isa<warp::LoadSavedOp, warp::LoadStagedOp>(op)) return {"loads", "a saved state"};
    if (auto load = dyn_cast<warp::LoadStateOp>(op)) return {"loads", load.getTensor().str()};
    if (auto store = dyn_cast<warp::StoreStateOp>(op)) return {"gives", store.getTensor().str()};
    if (auto store = dyn_cast<warp::StoreIntermediateOp>(op)) return {"gives", store.getTensor().str()};
    if (isa<warp::SaveStateOp, warp::KeepStateOp>(op)) return {"saves", "the state"};
    if (isa<warp::StoreOutputOp, warp::StoreMatrixOp, warp::StoreTokensOp>(op))
      return {"gives", op.getAttrOfType<StringAttr>("tensor").str()};
    if (isa<warp::LoadVectorOp, warp::LoadOp, warp::LoadJoinedOp>(op)) return {"reads", name_of(op.getResult(0)).str()};
    if (isa<warp::StoreOp, warp::StoreVectorOp>(op)) return {"stores", name_of(op.getOperand(0)).str()};
    if (isa<warp::StageStateOp>(op)) return {"stores", "the state"};
    if (auto store = dyn_cast<warp::StoreNumberOp>(op)) return {"stores", name_of(store.getTo()).str()};
    if (auto leave = dyn_cast<warp::LeaveScaleOp>(op)) return {"stores", name_of(leave.getTo()).str()};
    if (auto publish = dyn_cast<warp::PublishMaxOp>(op)) return {"stores", name_of(publish.getSlots()).str()};
    if (auto join = dyn_cast<warp::JoinRowsOp>(op)) return {"joins", name_of(join.getLast()).str()};
    if (auto add = dyn_cast<warp::AddVectorOp>(op)) return {"adds up", name_of(add.getTo()).str()};
    if (auto store = dyn_cast<warp::StoreSumOp>(op)) return {"gives", store.getTensor().str()};
    if (isa<warp::ParameterOp, warp::TokensOp>(op)) return {"reads", op.getAttrOfType<StringAttr>("tensor").str()};
    if (isa<warp::CallOp, warp::MmaOp, warp::UnitLowerInverseOp, warp::RoundOp, warp::ColumnDotsOp>(op))
      return {"computes", name_of(op.getResult(0)).str()};
    return {"", ""};
  }

  static std::string input_of(Value ring) {
    auto op = ring.getDefiningOp<warp::RingOp>();
    return op ? op.getTensor().str() : name_of(ring).str();
  }

  // The deeds since the last flush, a line for each verb.
  void flush() {
    for (auto& [verb, whats] : deeds_)
      if (!whats.empty()) line(fmt::format("{} {}", verb, fmt::join(whats, ", ")));
    deeds_.clear();
  }

  // Text at the present depth, in lines of some width.
  void line(llvm::StringRef text) {
    size_t indent = 2 * depth_;
    while (!text.empty()) {
      size_t end = text.size();
      if (indent + end > kWidth) end = std::min(text.rfind(' ', kWidth - indent), text.size());
      text_ += std::string(indent, ' ') + text.take_front(end).str() + "\n";
      text = text.drop_front(end).ltrim();
      indent = 2 * depth_ + 4;
    }
  }

  warp::KernelOp kernel_;
  std::string text_;
  size_t depth_ = 0;
  llvm::MapVector<const char*, llvm::SmallVector<std::string>> deeds_;
};

}  // namespace

std::string explain_schedule(const Source& source, const Config& config) {
  if (source.stage == Stage::cuda)
    user_error("the text of the stage cuda does not say its schedule; give an operator, or a text of an earlier stage");
  if (is_token_kernel(source, config)) return "for each token: 16 rows of the state a warp, without shared memory\n";
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect, nest::NestDialect>();
  auto module = parse(lower_to(source, Stage::warp, config), context);
  std::string text;
  const auto add = [&](const std::string& of_kernel) { text += (text.empty() ? "" : "\n") + of_kernel; };
  for (Operation& op : *module->getBody()) {
    if (auto kernel = dyn_cast<warp::KernelOp>(op)) add(Nest(kernel).run());
    if (auto kernel = dyn_cast<nest::KernelOp>(op)) add(nest::explain(kernel));
  }
  return text;
}

}  // namespace wkvc
