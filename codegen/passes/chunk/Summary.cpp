#include "codegen/passes/chunk/Summary.h"

#include <llvm/ADT/DenseSet.h>

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/DropUnused.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// Puts an offset on what is not zero in rows of the map by itself.
class Summary {
 public:
  explicit Summary(chunk::ProgramOp program) : program_(program), spaces_(infer_spaces(program)) {}

  void run() {
    bool contracts = false;
    for (Operation& op : llvm::make_early_inc_range(program_.getBody().front())) {
      bool reads = isa<chunk::StateOp>(op) || llvm::any_of(op.getOperands(), [&](Value x) { return of_state(x); });
      if (reads) {
        check_rows_alike(&op);
        contracts |= isa<chunk::DotOp>(op);
      }
      for (Value result : op.getResults()) {
        if (reads)
          of_state_.insert(result);
        else if (has_values(result) && keeps_zero(&op))
          zero_.insert(result);
        else if (has_values(result) && chunk::element(result).isF32())  // others are widened first
          zero_.insert(offset(result));
      }
    }
    program_.setSummary(contracts ? "full" : "diagonal");
  }

 private:
  bool of_state(Value x) const { return of_state_.contains(x); }
  bool is_zero(Value x) const { return zero_.contains(x); }
  bool has_values(Value x) const {
    Space space = spaces_.lookup(x);
    return space.rows == Axis::value || space.columns == Axis::value;
  }

  // Whether the result is zero in rows of the map because the operands are.
  bool keeps_zero(Operation* op) const {
    auto is_zero = [&](Value x) { return this->is_zero(x); };
    if (isa<chunk::MulOp, chunk::DotOp>(op)) return llvm::any_of(op->getOperands(), is_zero);
    bool linear = isa<chunk::AddOp, chunk::SubOp, chunk::NegOp, chunk::WidenOp, chunk::RoundOp, chunk::KeepValidOp,
                      chunk::CumsumOp, chunk::RowOp, chunk::AtRowOp>(op);
    return linear && llvm::all_of(op->getOperands(), is_zero);
  }

  Value offset(Value x) {
    OpBuilder b(x.getContext());
    b.setInsertionPointAfterValue(x);
    auto op = chunk::OffsetOp::create(b, x.getLoc(), x.getType(), x);
    x.replaceAllUsesExcept(op.getResult(), op);
    spaces_[op.getResult()] = spaces_.lookup(x);
    if (auto name = name_of(x); !name.empty()) set_name(op.getResult(), (name + "_offset").str());
    return op;
  }

  // The operation does the same to every row of the state, apart from what is zero for the map.
  void check_rows_alike(Operation* op) {
    bool sum = isa<chunk::AddOp, chunk::SubOp>(op);
    for (Value x : op->getOperands()) {
      if (of_state(x)) continue;
      if (sum ? is_zero(x) : !has_values(x)) continue;
      user_error_at(
          op,
          "--segments: '{}' treats value rows of its state differently in '{}', so that a segment has no map for all "
          "of them; use --segments 1",
          program_.getRecurrence().str(), op->getName().getStringRef().str());
    }
  }

  chunk::ProgramOp program_;
  Spaces spaces_;
  llvm::DenseSet<Value> of_state_, zero_;
};

// Returns how many blocks share the rows of a summary that other warps prepare chunks for. Registers of a block hold
// the rows of one wide state, and the map has as many rows as there are keys.
int cluster_of(chunk::ProgramOp summary) {
  const Schedule schedule = summary.getSchedule();
  const auto states = static_cast<int64_t>(summary.getValueDim()), rows = states + map_rows(summary);
  int cluster = schedule.grid.cluster;
  if (!schedule.goes_ahead() || !sm_90a.is_wide(summary.getKeyDim())) return cluster;
  while (rows > states * cluster && rec::is_cluster(2 * cluster) && rows % (16 * 2 * cluster) == 0) cluster *= 2;
  return cluster;
}

}  // namespace

void summarize(chunk::ProgramOp program) {
  OpBuilder builder(program);
  auto summary = cast<chunk::ProgramOp>(builder.clone(*program));
  summary.reschedule([](Schedule& schedule) { schedule.grid.blocks = 0; });  // it has warps of its own
  for (Operation& op : llvm::make_early_inc_range(summary.getBody().front()))
    if (isa<chunk::OutputOp, chunk::AccumulateOp, chunk::UpdateSavedOp>(op)) op.erase();
  drop_unused(summary);
  if (!summary.getBody().getOps<chunk::SavedStateOp>().empty())
    user_error_at(
        program,
        "--segments: gradients of '{}' go through an output that is no linear function of the state, so that what a "
        "segment does to them is not known without its states; use --segments 1",
        program.getRecurrence().str());
  Summary(summary).run();
  summary.reschedule([&](Schedule& schedule) { schedule.grid.cluster = cluster_of(summary); });
}

int64_t map_rows(chunk::ProgramOp program) {
  if (!program.getSummary()) return 0;
  return *program.getSummary() == "full" ? static_cast<int64_t>(program.getKeyDim()) : 16;
}

}  // namespace wkvc
